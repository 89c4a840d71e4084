-- Makes an inbox take pushes and names the rebuild that may fill it. A value that is damaged or none of ours is replaced.
-- KEYS: inbox. ARGV: nonce, and seqs, floors and nonce of an inbox that has just begun.
local key = KEYS[1]
local start, count, capacity, trimmed, time, high, low = open(key)

local function is_whole()
  if call('STRLEN', key) ~= length_of(capacity) then return false end
  local records = read_records(key, start, count)
  local last_time, last_high, last_low = -1, 0, 0
  for at = 1, #records, RECORD do
    local t, h, l = unpack('>I6I4I4', records, at)
    if not is_older(last_time, last_high, last_low, t, h, l) then return false end
    last_time, last_high, last_low = t, h, l
  end
  return count == 0 or (last_time == time and last_high == high and last_low == low)
end

if start and is_whole() then
  if trimmed == 1 then settle(key, start) end
  call('SETRANGE', key, TRIM_FLOOR, string.rep('\0', NONCE - TRIM_FLOOR) .. ARGV[1])
else
  write_inbox(key, capacity_for(1), 0, ARGV[2], '')
end
return 1
