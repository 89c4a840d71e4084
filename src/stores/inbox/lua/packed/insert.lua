-- Puts one entry into each inbox that exists: one read and one write an inbox when it is among the newest there, as it
-- mostly is, and one more for every eighth.
-- KEYS: inboxes (one hash slot on a cluster). ARGV: time, high and low half of the id, cap.
-- Returns how many inboxes exist, and how many values are damaged or none of ours: they count as missing.
local time, high, low, cap = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local record = pack('>I6I4I4', time, high, low)
-- Free records behind a full main: 0.06 more memory, and its records move at one of 62 deliveries and more. Room for 14 of
-- 1,000 took 1.5 us more a delivery.
local SLACK = math.max(RECENT_MAX, math.ceil(cap / 16))

-- Moves the records of main to its front, of a new string where its size does not fit `added` more; returns the capacity.
-- Nil when some are missing.
local function make_room(key, start, count, capacity, added)
  local main = read_records(key, start, count)
  if #main ~= RECORD * count then return nil end
  local is_full = count + added + RECENT_MAX >= cap
  local wanted = capacity_for(is_full and cap + SLACK or count + added)
  if wanted == capacity then
    call('SETRANGE', key, HEAD, main)
  else
    write_inbox(key, wanted, 0, call('GETRANGE', key, SEQS, HEAD - 1), main, '')
  end
  return wanted
end

-- 1, or -1 when the string was cut: what is left would pass for a whole one later, so it goes.
local function check(key, is_whole)
  if is_whole then return 1 end
  call('DEL', key)
  return -1
end

-- Older than all recent records: to its place in main.
local function deliver_deep(key, start, count, capacity, trimmed, recent)
  local place, is_here = find(key, start, count, time, high, low)
  if is_here then return 1 end
  if count + #recent / RECORD == cap then
    trimmed = 1
    -- It is itself the oldest, beyond the cap.
    if place == 0 then return check(key, write_hot(key, start, count, 1, recent) == length_of(capacity)) end
    start, count, place = start + 1, count - 1, place - 1
  elseif place == 0 and trimmed == 1 then
    settle(key, start, count, recent)
    trimmed = 0
  end
  if start + count == capacity then
    capacity = make_room(key, start, count, capacity, 1)
    if not capacity then return check(key, false) end
    start = 0
  end
  local tail = read_records(key, start + place, count - place)
  local length = call('SETRANGE', key, offset_of(start + place), record .. tail)
  write_hot(key, start, count + 1, trimmed, recent)
  return check(key, #tail == RECORD * (count - place) and length == length_of(capacity))
end

local function deliver(key)
  local start, count, capacity, trimmed, recent = open(key)
  if not start then return -count end
  -- A cap that was lowered since.
  local excess = count + #recent / RECORD - cap
  if excess > 0 then
    local from_main = math.min(excess, count)
    start, count, trimmed = start + from_main, count - from_main, 1
    recent = sub(recent, RECORD * (excess - from_main) + 1)
    write_hot(key, start, count, trimmed, recent)
  end

  local added = recent .. record
  if recent ~= '' then
    local t, h, l = unpack('>I6I4I4', recent, #recent - RECORD + 1)
    if not is_older(t, h, l, time, high, low) then
      local place, is_here = find_in(recent, time, high, low)
      if is_here then return 1 end
      if place == 0 and count > 0 then return deliver_deep(key, start, count, capacity, trimmed, recent) end
      if place == 0 and #recent / RECORD == cap then
        return check(key, write_hot(key, start, count, 1, recent) == length_of(capacity))
      end
      if place == 0 and trimmed == 1 then
        settle(key, start, count, recent)
        trimmed = 0
      end
      added = sub(recent, 1, RECORD * place) .. record .. sub(recent, RECORD * place + 1)
    end
  end

  if count + #added / RECORD > cap then
    trimmed = 1
    if count > 0 then start, count = start + 1, count - 1 else added = sub(added, RECORD + 1) end
  end
  if #added > RECORD * RECENT_MAX then
    if start + count + RECENT_MAX > capacity then
      capacity = make_room(key, start, count, capacity, RECENT_MAX)
      if not capacity then return check(key, false) end
      start = 0
    end
    call('SETRANGE', key, offset_of(start + count), sub(added, 1, RECORD * RECENT_MAX))
    added, count = sub(added, RECORD * RECENT_MAX + 1), count + RECENT_MAX
  end
  return check(key, write_hot(key, start, count, trimmed, added) == length_of(capacity))
end

local present, damaged = 0, 0
for i = 1, #KEYS do
  local result = deliver(KEYS[i])
  if result > 0 then present = present + 1 elseif result < 0 then damaged = damaged + 1 end
end
return { present, damaged }
