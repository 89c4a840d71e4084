-- Makes an inbox take pushes and names the rebuild that may fill it. A value that is not ours is replaced.
-- KEYS: inbox. ARGV: nonce, the head of an inbox that has just begun.
local fields = read_head(KEYS[1])
if fields then
  fields[8] = '0:00000000000000000000'
  fields[9] = ARGV[1]
  write_head(KEYS[1], fields)
else
  redis.call('DEL', KEYS[1])
  redis.call('ZADD', KEYS[1], -1, ARGV[2])
end
return 1
