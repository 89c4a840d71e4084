-- Prelude of every script of a packed inbox. An inbox is one string of fixed length:
--   0  4  'TLi' and version 1          31 32  epoch, followSeq, activeSeq, awakeSeq: 8 bytes each
--   4  4  capacity, in records         63 45  allFloor, activeFloor, trimFloor: time56|id64
--   8  4  start: free records below   108 16  nonce, padded with zero bytes
--  12  4  count of records            124  -  capacity records, ascending: time48|id64
--  16  1  1: trimmed since settled           1 byte that is never written again
--  17 14  the newest record
-- All numbers are big-endian. While `trimmed`, the oldest record raises all three floors, so that a trim need not write them.
-- Strings change in place (SETRANGE): growth by APPEND would double what Redis allocates.
local MAGIC, HOT, SEQS, FLOORS, TRIM_FLOOR, NONCE, HEAD, RECORD = 'TLi\1', 31, 31, 63, 93, 108, 124, 14
local call, pcall, pack, unpack = redis.call, redis.pcall, struct.pack, struct.unpack

-- start, count, capacity, trimmed and the newest record's time, high and low half of the id. Without an inbox: nil, and
-- whether something else is there (1) or nothing (0). Halves, because doubles end at 2^53.
local function open(key)
  -- Offsets as text: Redis prints a number with 17 digits, which takes as long as the command.
  local hot = pcall('GETRANGE', key, '0', '30')
  if hot == '' then return nil, 0 end
  if type(hot) ~= 'string' or #hot < HOT then return nil, 1 end
  local magic, capacity, start, count, trimmed, time, high, low = unpack('>c4I4I4I4BI6I4I4', hot)
  if magic ~= MAGIC or start + count > capacity then return nil, 1 end
  return start, count, capacity, trimmed, time, high, low
end

-- What any string of this capacity measures; another length means that it was cut.
local function length_of(capacity) return HEAD + RECORD * capacity + 1 end

local function offset_of(index) return HEAD + RECORD * index end

local function read_records(key, index, count)
  if count <= 0 then return '' end
  return call('GETRANGE', key, offset_of(index), offset_of(index + count) - 1)
end

-- Compares entries as numbers: string order follows the server's locale.
local function is_older(time_a, high_a, low_a, time_b, high_b, low_b)
  if time_a ~= time_b then return time_a < time_b end
  if high_a ~= high_b then return high_a < high_b end
  return low_a < low_b
end

-- How many records are older than the position, and whether it is itself a record. Late arrivals are mostly near the
-- newest, so the first probe is there; the last 16 records are read at once, which is cheaper than 4 more probes.
local function find(key, start, count, time, high, low)
  local from, to = 0, count
  local middle = math.max(math.floor(count / 2), count - 64)
  while to - from > 16 do
    local t, h, l = unpack('>I6I4I4', read_records(key, start + middle, 1))
    if is_older(t, h, l, time, high, low) then from = middle + 1 else to = middle end
    middle = math.floor((from + to) / 2)
  end
  local block = read_records(key, start + from, math.min(to + 1, count) - from)
  for at = 1, #block, RECORD do
    local t, h, l = unpack('>I6I4I4', block, at)
    if not is_older(t, h, l, time, high, low) then
      return from + (at - 1) / RECORD, t == time and h == high and l == low
    end
  end
  return from + #block / RECORD, false
end

-- Records that fit with at least `count`: what the allocator (jemalloc: four classes a doubling) rounds up to is used.
local function capacity_for(count)
  local fixed, step = HEAD + 1 + 10, 16
  local bytes = fixed + RECORD * count
  while bytes > 8 * step do step = 2 * step end
  return math.floor((math.ceil(bytes / step) * step - fixed) / RECORD)
end

-- Writes the whole string. `rest`: seqs, floors and nonce. `records`: ascending.
local function write_inbox(key, capacity, trimmed, rest, records)
  local last = #records > 0 and string.sub(records, -RECORD) or string.rep('\0', RECORD)
  call('SET', key, table.concat({
    MAGIC, pack('>I4I4I4B', capacity, 0, #records / RECORD, trimmed), last, rest, records,
    string.rep('\0', RECORD * capacity - #records), '.',
  }))
end

local function newest_floor(a, b)
  local at, ah, al = unpack('>I7I4I4', a)
  local bt, bh, bl = unpack('>I7I4I4', b)
  return is_older(at, ah, al, bt, bh, bl) and b or a
end

-- Writes down the floors that the oldest record stands for: before it may be followed by an older one, or goes.
local function settle(key, start)
  local oldest = '\0' .. read_records(key, start, 1)
  local floors = {}
  for i = 0, 2 do
    local at = FLOORS + 15 * i
    floors[i + 1] = newest_floor(call('GETRANGE', key, at, at + 14), oldest)
  end
  call('SETRANGE', key, FLOORS, table.concat(floors))
  call('SETRANGE', key, 16, '\0')
end
