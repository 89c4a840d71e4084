-- Takes points from a bucket when it holds enough (domain/token-bucket.ts, takePoints).
-- KEYS: the bucket, "points at". ARGV: cost, capacity, refill per second. Returns 1 or 0, and the points left as text.
-- The clock is the server's, so that several gateways share one. The key expires when the bucket is full again.
local cost, capacity, refill = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local points = capacity
local stored = redis.call('GET', KEYS[1])
if stored then
  local held, at = string.match(stored, '^(%S+) (%S+)$')
  points = math.min(capacity, tonumber(held) + math.max(0, now - tonumber(at)) / 1000 * refill)
end
local allowed = points >= cost and 1 or 0
if allowed == 1 then points = points - cost end
local full_ms = math.ceil((capacity - points) / refill * 1000)
if full_ms > 0 then
  redis.call('SET', KEYS[1], string.format('%.3f %.0f', points, now), 'PX', full_ms)
else
  redis.call('DEL', KEYS[1])
end
return { allowed, string.format('%.3f', points) }
