-- Removes entries; with a followSeq only while the inbox covers exactly the follows up to it.
-- KEYS: inbox. ARGV: followSeq as 8 bytes or '', then time, high and low half of the id of each entry.
-- Returns 1 when the value is damaged: it counts as missing.
local key = KEYS[1]
local start, count, capacity, trimmed = open(key)
if not start then return count end
if call('STRLEN', key) ~= length_of(capacity) then return 1 end
if ARGV[1] ~= '' and call('GETRANGE', key, SEQS + 8, SEQS + 15) ~= ARGV[1] then return 0 end
if trimmed == 1 then settle(key, start) end
for i = 2, #ARGV, 3 do
  local place, is_here = find(key, start, count, tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]))
  if is_here then
    local tail = read_records(key, start + place + 1, count - place - 1)
    if tail ~= '' then call('SETRANGE', key, offset_of(start + place), tail) end
    count = count - 1
  end
end
local last = count > 0 and read_records(key, start + count - 1, 1) or string.rep('\0', RECORD)
call('SETRANGE', key, 8, pack('>I4I4B', start, count, 0) .. last)
return 0
