-- Keeps the later reading of each content's counts: an older one, which came late, changes nothing.
-- KEYS: counts (one hash slot). ARGV: time to live in seconds, then per key its version and the text to keep, which begins
-- with that version. Versions stay far below 2^53, where Lua's numbers are exact.
for i, key in ipairs(KEYS) do
  local version, text = ARGV[2 * i], ARGV[2 * i + 1]
  local held = redis.call('GET', key)
  if not held or tonumber(string.match(held, '^%d+')) <= tonumber(version) then
    redis.call('SET', key, text, 'EX', ARGV[1])
  end
end
