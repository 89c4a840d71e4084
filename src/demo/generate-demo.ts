import { SNOWFLAKE_EPOCH_MS } from '../domain/snowflake.js';
import { createPeople, READER_ID, type Person } from './people.js';
import { createRandom, createWeightedDraw, type Random } from './random.js';
import { writePost, writeReply, writeRepostNote, type Topic } from './topics.js';

export { READER_ID } from './people.js';

/** Lines as `tideline import` takes them. */
export type DemoLine = Readonly<Record<string, unknown>> & { readonly kind: string };

const PEOPLE = 300;
const POSTS = 3_000;
const READER_FOLLOWS = 40;
const FOLLOWS_MAX = 90;
const LIKES_MAX = 150;
const COMMENTS_MAX = 40;
const SPAN_MS = 10 * 86_400_000;
const NEWEST_AGE_MS = 2 * 60_000;
const DAY_MS = 86_400_000;

/**
 * A small world: 300 people of whom a few are followed by nearly everyone, and what they posted, liked and said in the
 * last ten days. The same seed gives the same world; all times hang on `nowMs`, so the newest post is minutes old.
 */
export function* generateDemo({ seed, nowMs }: { seed: number; nowMs: number }): Generator<DemoLine> {
  const random = createRandom(seed);
  const people = createPeople(random, PEOPLE);
  // Person i has the (i)th share of fame by Zipf's law; the reader stands outside of it.
  const fame = people.map((_, rank) => (rank === 0 ? 0.02 : 1 / rank ** 0.9));
  const drawFamous = createWeightedDraw(random, fame);

  for (const person of people) yield describePerson(random, person, nowMs);
  yield* follow(random, people, drawFamous, nowMs);
  yield* post(random, people, fame, nowMs);
}

function describePerson(random: Random, { topics: _, ...person }: Person, nowMs: number): DemoLine {
  // One in six has not been here for weeks: pushes pass them by.
  const ageMs = random.chance(1 / 6) ? (31 + random.below(60)) * DAY_MS : random.below(3 * DAY_MS);
  return { kind: 'user', ...person, lastActiveAt: person.id === READER_ID ? nowMs : nowMs - ageMs };
}

function* follow(random: Random, people: readonly Person[], drawFamous: () => number, nowMs: number) {
  for (const [index, person] of people.entries()) {
    const isReader = person.id === READER_ID;
    const wanted = isReader ? READER_FOLLOWS : 4 + random.heavyTailed(FOLLOWS_MAX, 0.7);
    // The reader follows the ten most followed.
    const chosen = new Set(isReader ? people.slice(1, 11) : []);
    while (chosen.size < wanted) {
      const other = drawFamous();
      if (other !== index) chosen.add(people[other] as Person);
    }
    for (const followee of chosen) {
      yield {
        kind: 'follow',
        follower: person.id,
        followee: followee.id,
        at: nowMs - SPAN_MS - random.below(300 * DAY_MS),
      };
    }
  }
}

function* post(random: Random, people: readonly Person[], fame: readonly number[], nowMs: number): Generator<DemoLine> {
  // The famous post more, though not in proportion. The reader reads.
  const drawAuthor = createWeightedDraw(
    random,
    fame.map((share, index) => (index === 0 ? 0.01 : share ** 0.5)),
  );
  const repostable: string[] = [];
  let postNo = 0;
  let commentNo = 0;
  for (const publishTime of chooseTimes(random, nowMs)) {
    const index = drawAuthor();
    const author = people[index] as Person;
    const topic = random.chance(0.7) ? (author.topics[0] as Topic) : random.pick(author.topics);
    const original = random.chance(0.03) ? random.pick(repostable.slice(-300)) : undefined;
    const isPublic = original !== undefined || !random.chance(0.06);
    const id = snowflakeAt(publishTime, postNo++);
    if (isPublic && !original) repostable.push(id);
    yield {
      kind: 'content',
      id,
      author: author.id,
      publishTime,
      text: original ? writeRepostNote(random) : writePost(random, topic),
      media: original ? [] : chooseMedia(random, topic),
      visibility: isPublic ? 'PUBLIC' : 'FOLLOWERS',
      repostOf: original ?? null,
    };
    const attention = 1 + 40 * (fame[index] as number);
    const laterMoment = (): number => publishTime + Math.floor((nowMs - publishTime) * random.next() ** 3);
    for (const user of choosePeople(
      random,
      people,
      Math.min(LIKES_MAX, random.heavyTailed(40, 1.1) * attention * 0.4),
    )) {
      yield { kind: 'like', user: user.id, content: id, at: laterMoment() };
    }
    const comments = random.chance(0.4) ? Math.min(COMMENTS_MAX, random.heavyTailed(20, 1.2) * attention * 0.35) : 0;
    for (const user of choosePeople(random, people, comments)) {
      const at = laterMoment();
      yield {
        kind: 'comment',
        id: snowflakeAt(at, 1_000_000 + commentNo++),
        content: id,
        user: user.id,
        text: writeReply(random),
        at,
      };
    }
  }
}

/** Oldest first, denser in the waking hours and towards now. */
function chooseTimes(random: Random, nowMs: number): number[] {
  const ages = [NEWEST_AGE_MS];
  while (ages.length < POSTS) {
    const age = NEWEST_AGE_MS + Math.floor((SPAN_MS - NEWEST_AGE_MS) * random.next() ** 1.2);
    const hour = ((nowMs - age) % DAY_MS) / 3_600_000;
    if (hour >= 6 || age < 3_600_000 || random.chance(0.15)) ages.push(age);
  }
  return ages.sort((a, b) => b - a).map((age) => nowMs - age);
}

function choosePeople(random: Random, people: readonly Person[], wanted: number): Set<Person> {
  const chosen = new Set<Person>();
  while (chosen.size < Math.floor(wanted)) chosen.add(random.pick(people));
  return chosen;
}

function chooseMedia(random: Random, topic: Topic): object[] {
  if (!random.chance(0.18)) return [];
  const name = topic.name.replaceAll(' ', '-');
  if (random.chance(0.2)) return [{ url: `https://example.org/${name}/${random.below(500)}`, kind: 'LINK' }];
  const [width, height] = random.pick([
    [1600, 1200],
    [1200, 1600],
    [1920, 1080],
    [1080, 1080],
  ] as const);
  const altText = random.pick(topic.photos);
  return [
    { url: `https://example.org/photos/${name}-${random.below(500)}.jpg`, kind: 'IMAGE', width, height, altText },
  ];
}

/** An id as the service would have given it at that time, told apart by `number`: 22 bits of worker and sequence. */
const snowflakeAt = (timeMs: number, number: number): string =>
  ((BigInt(timeMs - SNOWFLAKE_EPOCH_MS) << 22n) | BigInt(number)).toString();
