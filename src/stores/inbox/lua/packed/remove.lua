-- Removes entries; with a followSeq only while the inbox covers exactly the follows up to it.
-- KEYS: inbox. ARGV: followSeq as 8 bytes or '', then time, high and low half of the id of each entry.
-- Returns 1 when the value is damaged: it counts as missing.
local key = KEYS[1]
local start, count, capacity, trimmed, recent = open(key)
if not start then return count end
if call('STRLEN', key) ~= length_of(capacity) then return 1 end
if ARGV[1] ~= '' and call('GETRANGE', key, SEQS + 8, SEQS + 15) ~= ARGV[1] then return 0 end
if trimmed == 1 then settle(key, start, count, recent) end
local records = read_records(key, start, count) .. recent
local before = #records
for i = 2, #ARGV, 3 do
  local place, is_here = find_in(records, tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]))
  if is_here then records = sub(records, 1, RECORD * place) .. sub(records, RECORD * (place + 1) + 1) end
end
if #records < before then write_records(key, 0, call('GETRANGE', key, SEQS, HEAD - 1), records) end
return 0
