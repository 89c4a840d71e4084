-- Puts one entry into each inbox that exists: 3 commands an inbox when it is the newest there, as it mostly is.
-- KEYS: inboxes (one hash slot on a cluster). ARGV: time, high and low half of the id, cap.
-- Returns how many inboxes exist, and how many values are damaged or none of ours: they count as missing.
local time, high, low, cap = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local record = pack('>I6I4I4', time, high, low)
-- Free records behind a full inbox: 0.06 more memory, and its records move at one of 62 deliveries and more. Room for 14
-- of 1,000 took 1.5 us more a delivery.
local SLACK = math.ceil(cap / 16)

-- Moves the records to the front, of a new string where its size does not fit. Nil when some are missing.
local function make_room(key, start, count, capacity)
  local records = read_records(key, start, count)
  if #records ~= RECORD * count then return nil end
  local wanted = capacity_for(count + 1 < cap and count + 1 or cap + SLACK)
  if wanted == capacity then
    call('SETRANGE', key, HEAD, records)
  else
    write_inbox(key, wanted, 0, call('GETRANGE', key, SEQS, HEAD - 1), records)
  end
  return wanted
end

local function write_hot(key, start, count, trimmed, last)
  call('SETRANGE', key, '8', pack('>I4I4B', start, count, trimmed) .. last)
end

-- 1, or 0 when there is no inbox, -1 when it was cut: what is left would pass for a whole one later, so it goes.
local function lose(key)
  call('DEL', key)
  return -1
end

local function deliver(key)
  local start, count, capacity, trimmed, t, h, l = open(key)
  if not start then return -count end
  local place = count
  if count > 0 and not is_older(t, h, l, time, high, low) then
    local is_here
    place, is_here = find(key, start, count, time, high, low)
    if is_here then return 1 end
  end

  local excess = count + 1 - cap
  if excess > 0 then
    trimmed = 1
    if place < excess then
      -- It is itself among the oldest beyond the cap.
      write_hot(key, start + excess - 1, count - excess + 1, 1, pack('>I6I4I4', t, h, l))
      return 1
    end
    start, count, place = start + excess, count - excess, place - excess
  elseif place == 0 and trimmed == 1 then
    settle(key, start)
    trimmed = 0
  end

  if start + count == capacity then
    capacity = make_room(key, start, count, capacity)
    if not capacity then return lose(key) end
    start = 0
  end
  if place == count then
    if call('SETRANGE', key, offset_of(start + count), record) ~= length_of(capacity) then return lose(key) end
    call('SETRANGE', key, '8', pack('>I4I4BI6I4I4', start, count + 1, trimmed, time, high, low))
    return 1
  end
  local tail = read_records(key, start + place, count - place)
  if #tail ~= RECORD * (count - place) then return lose(key) end
  if call('SETRANGE', key, offset_of(start + place), record .. tail) ~= length_of(capacity) then
    return lose(key)
  end
  write_hot(key, start, count + 1, trimmed, string.sub(tail, -RECORD))
  return 1
end

local present, damaged = 0, 0
for i = 1, #KEYS do
  local result = deliver(KEYS[i])
  if result > 0 then present = present + 1 elseif result < 0 then damaged = damaged + 1 end
end
return { present, damaged }
