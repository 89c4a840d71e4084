-- Makes an inbox take pushes and names the rebuild that may fill it. A value that is damaged or none of ours is replaced.
-- KEYS: inbox. ARGV: nonce, and seqs, floors and nonce of an inbox that has just begun.
local key = KEYS[1]
local start, count, capacity, trimmed, recent = open(key)

local function is_whole()
  if call('STRLEN', key) ~= length_of(capacity) or (recent == '' and count > 0) then return false end
  local records = read_records(key, start, count) .. recent
  local last_time, last_high, last_low = -1, 0, 0
  for at = 1, #records, RECORD do
    local t, h, l = unpack('>I6I4I4', records, at)
    if not is_older(last_time, last_high, last_low, t, h, l) then return false end
    last_time, last_high, last_low = t, h, l
  end
  return true
end

if start and is_whole() then
  if trimmed == 1 then settle(key, start, count, recent) end
  call('SETRANGE', key, TRIM_FLOOR, string.rep('\0', NONCE - TRIM_FLOOR) .. ARGV[1])
else
  write_records(key, 0, ARGV[2], '')
end
return 1
