-- One page and the head. O(log n + page), also when thousands share one score.
-- KEYS: inbox. ARGV: 'older' or 'newer', limit, score, member; without score and member from the newest entry.
-- Returns the head (or false), then member and score of each entry in walking order.
local key, limit = KEYS[1], tonumber(ARGV[2])
local fields = read_head(key)
if not fields then return { false } end

-- How many entries are newer than the position, and whether it is itself an entry.
local function place(score, member)
  -- Below the least time there is only the head.
  if tonumber(score) < 0 then return redis.call('ZCARD', key) - 1, 0 end
  local rank = redis.call('ZREVRANK', key, member)
  if rank and tonumber(redis.call('ZSCORE', key, member)) == tonumber(score) then return rank, 1 end
  local low = redis.call('ZCOUNT', key, '(' .. score, '+inf')
  local high = low + redis.call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZREVRANGE', key, middle, middle)[1]
    if compare_ids(other, member) > 0 then low = middle + 1 else high = middle end
  end
  return low, 0
end

local from, to = 0, limit - 1
if ARGV[3] then
  local newer, here = place(ARGV[3], ARGV[4])
  if ARGV[1] == 'older' then
    from, to = newer + here, newer + here + limit - 1
  else
    from, to = math.max(0, newer - limit), newer - 1
  end
end
local page = to >= from and redis.call('ZREVRANGE', key, from, to, 'WITHSCORES') or {}
local reply = { table.concat(fields, ' ') }
local first, last, step = 1, #page - 1, 2
if ARGV[1] == 'newer' then first, last, step = #page - 1, 1, -2 end
for i = first, last, step do
  if page[i + 1] ~= '-1' then
    reply[#reply + 1] = page[i]
    reply[#reply + 1] = page[i + 1]
  end
end
return reply
