-- Prelude of every inbox script. An inbox is one sorted set: score = publishTime, member = contentId as 20 digits, and
-- at rank 0, with score -1, the head: 'v1 epoch followSeq activeSeq awakeSeq allFloor activeFloor trimFloor nonce'.
-- Head and entries are one key, so that they are lost together.

-- The head's fields, or nil when there is no inbox or the value is not ours.
local function read_head(key)
  local reply = redis.pcall('ZRANGE', key, 0, 0)
  if reply.err or not reply[1] or string.sub(reply[1], 1, 3) ~= 'v1 ' then return nil end
  local fields = {}
  for field in string.gmatch(reply[1], '%S+') do fields[#fields + 1] = field end
  return fields
end

local function write_head(key, fields)
  redis.call('ZREMRANGEBYRANK', key, 0, 0)
  redis.call('ZADD', key, -1, table.concat(fields, ' '))
end

-- Compares two 20-digit ids as numbers, by halves: string order follows the server's locale, doubles end at 2^53.
local function compare_ids(a, b)
  local ah, bh = tonumber(string.sub(a, 1, 10)), tonumber(string.sub(b, 1, 10))
  if ah ~= bh then return ah - bh end
  return tonumber(string.sub(a, 11)) - tonumber(string.sub(b, 11))
end

-- The newer of two floors, each 'time:id'.
local function newest_floor(a, b)
  local at, ai = string.match(a, '^(%d+):(%d+)$')
  local bt, bi = string.match(b, '^(%d+):(%d+)$')
  local d = tonumber(at) - tonumber(bt)
  if d == 0 then d = compare_ids(ai, bi) end
  return d >= 0 and a or b
end

-- Drops the oldest entries beyond the cap and raises the floors to the oldest one kept, in the same step.
local function trim(key, fields, cap)
  local excess = redis.call('ZCARD', key) - 1 - cap
  if excess <= 0 then return end
  redis.call('ZREMRANGEBYRANK', key, 1, excess)
  local oldest = redis.call('ZRANGE', key, 1, 1, 'WITHSCORES')
  local floor = string.format('%.0f:%s', tonumber(oldest[2]), oldest[1])
  for i = 6, 8 do fields[i] = newest_floor(fields[i], floor) end
  write_head(key, fields)
end
