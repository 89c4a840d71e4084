-- Merges what a rebuild pulled and sets the head. What was trimmed since the rebuild began bounds the floors.
-- KEYS: inbox. ARGV: nonce, cap, seqs, allFloor, activeFloor, records (ascending).
-- Returns 1, or 0 when another rebuild has begun or the inbox is gone.
local key, cap = KEYS[1], tonumber(ARGV[2])
local start, count, capacity, trimmed, recent = open(key)
if not start or call('STRLEN', key) ~= length_of(capacity) then return 0 end
if call('GETRANGE', key, NONCE, HEAD - 1) ~= ARGV[1] then return 0 end
if trimmed == 1 then settle(key, start, count, recent) end

local function merge(a, b)
  if a == '' then return b end
  local merged, i, j = {}, 1, 1
  while i <= #a and j <= #b do
    local at, ah, al = unpack('>I6I4I4', a, i)
    local bt, bh, bl = unpack('>I6I4I4', b, j)
    if is_older(bt, bh, bl, at, ah, al) then
      merged[#merged + 1] = sub(b, j, j + RECORD - 1)
      j = j + RECORD
    else
      merged[#merged + 1] = sub(a, i, i + RECORD - 1)
      i = i + RECORD
      if at == bt and ah == bh and al == bl then j = j + RECORD end
    end
  end
  return table.concat(merged) .. sub(a, i) .. sub(b, j)
end

local records = merge(read_records(key, start, count) .. recent, ARGV[6])
trimmed = 0
if #records > RECORD * cap then
  records = sub(records, -RECORD * cap)
  trimmed = 1
end
local trim_floor = call('GETRANGE', key, TRIM_FLOOR, NONCE - 1)
local floors = newest_floor(ARGV[4], trim_floor) .. newest_floor(ARGV[5], trim_floor) .. trim_floor
write_records(key, trimmed, ARGV[3] .. floors .. ARGV[1], records)
return 1
