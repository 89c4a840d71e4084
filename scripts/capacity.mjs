#!/usr/bin/env node
// `npm run capacity -- --users 1000000 --follows 200 --posts 50 --reads 1000 [--daily 0.3] [--monthly 0.6] [--json]`: what a network
// of this size needs, and the FANOUT_PUSH_THRESHOLD and ACTIVE_DAYS that need least. docs/performance.md says how it reckons.
import './lib/check-node.mjs';
import { parseArgs } from 'node:util';

/** CPU microseconds of all processes together, and bytes, as measured (docs/performance.md). */
const MEASURED = {
  deliveryUs: 7.5,
  /** One request through the gateway, of the mix. */
  requestUs: 8_000,
  /** One outbox of a pull, from a projection and from Postgres. */
  projectedOutboxUs: 39,
  outboxUs: 25,
  entryBytes: 20,
  projectedEntryBytes: 130,
};
/** What a full inbox or projection holds, for how long, and whom inboxes are kept for: the settings' defaults. */
const [ENTRIES_MAX, AGE_MAX_DAYS, DORMANT_DAYS] = [1_000, 90, 30];
/** Followers are spread by a power law: of accounts with n times as many there are n ** -TAIL as many. */
const TAIL = 1.3;
const DAY_SECONDS = 86_400;
const THRESHOLDS = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
const WINDOWS_DAYS = [1, 2, 3, 5, 7, 10, 14, 21, 30];

const network = readNetwork();
const plans = THRESHOLDS.flatMap((threshold) => WINDOWS_DAYS.map((days) => reckon(threshold, days)));
const best = plans.reduce((least, plan) => (plan.cost < least.cost ? plan : least));
const usual = reckon(10_000, 7);
if (network.json) console.log(JSON.stringify({ network, best, usual }));
else console.table({ 'least cost': best, defaults: usual });

function readNetwork() {
  const { values } = parseArgs({
    options: {
      users: { type: 'string', default: '1000000' },
      /** Whom a user follows on average. */
      follows: { type: 'string', default: '200' },
      /** A second. */
      posts: { type: 'string', default: '50' },
      reads: { type: 'string', default: '1000' },
      /** The shares of users who are here within a day and within 30 days. */
      daily: { type: 'string', default: '0.3' },
      monthly: { type: 'string', default: '0.6' },
      /** What a core and a GiB of memory cost, in any unit. */
      'core-price': { type: 'string', default: '25' },
      'gib-price': { type: 'string', default: '4' },
      json: { type: 'boolean', default: false },
    },
  });
  const { json, ...texts } = values;
  const numbers = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Number(text)]));
  const faulty = Object.keys(numbers).filter((name) => !(numbers[name] > 0 && Number.isFinite(numbers[name])));
  if (numbers.daily > numbers.monthly || numbers.monthly > 1) faulty.push('daily <= monthly <= 1');
  if (numbers.follows >= numbers.users) faulty.push('follows < users');
  if (faulty.length > 0) {
    console.error(`These must be numbers above 0: ${faulty.join(', ')}`);
    process.exit(1);
  }
  return { ...numbers, json };
}

function reckon(threshold, activeDays) {
  const { users, follows, posts, reads } = network;
  const toBig = shareOfFollowsTo(threshold);
  const awake = users * seenWithin(DORMANT_DAYS);
  const reached = (1 - toBig) * seenWithin(DORMANT_DAYS) + toBig * seenWithin(activeDays);
  const deliveries = posts * follows * reached;

  const postsKept = (DAY_SECONDS * AGE_MAX_DAYS * posts) / users;
  const entries = awake * Math.min(ENTRIES_MAX, postsKept * follows);
  const projected = accountsAbove(threshold) * Math.min(ENTRIES_MAX, postsKept);
  const bytes = entries * MEASURED.entryBytes + projected * MEASURED.projectedEntryBytes;

  // Who returns pulls twice: for the page, and for the inbox that is written behind it.
  const outboxUs = 2 * toBig * follows * MEASURED.projectedOutboxUs;
  const wholeUs = 2 * (1 - toBig) * follows * MEASURED.outboxUs;
  const returnsUs = returnsASecond(activeDays) * outboxUs + returnsASecond(DORMANT_DAYS) * wholeUs;
  const cores = (deliveries * MEASURED.deliveryUs + (reads + posts) * MEASURED.requestUs + returnsUs) / 1e6;
  const gib = bytes / 2 ** 30;
  return {
    threshold,
    activeDays,
    entries: Math.round(entries + projected),
    redisGiB: round(gib),
    deliveriesASecond: Math.round(deliveries),
    cores: round(cores),
    coresOfDeliveries: round((deliveries * MEASURED.deliveryUs) / 1e6),
    coresOfReturns: round(returnsUs / 1e6),
    cost: round(cores * network['core-price'] + gib * network['gib-price']),
  };
}

/** The share of users whose last visit is at most so long ago; from one day to 30 it grows with the logarithm. */
function seenWithin(days) {
  const { daily, monthly } = network;
  return daily + ((monthly - daily) * Math.log(days)) / Math.log(30);
}

/** Who comes back after more days than these: in a steady state as many as stay away for longer, the slope of `seenWithin`. */
function returnsASecond(days) {
  const { users, daily, monthly } = network;
  return (users * (monthly - daily)) / (Math.log(30) * days * DAY_SECONDS);
}

/** The share of all follows that go to accounts with more followers than these. */
function shareOfFollowsTo(followers) {
  const weight = (count) => count ** (1 - TAIL);
  const least = leastFollowers();
  if (followers >= network.users) return 0;
  if (followers <= least) return 1;
  return (weight(followers) - weight(network.users)) / (weight(least) - weight(network.users));
}

function accountsAbove(followers) {
  if (followers >= network.users) return 0;
  return network.users * Math.min(1, (followers / leastFollowers()) ** -TAIL);
}

/** Of the power law with the mean of `follows`. */
function leastFollowers() {
  return (network.follows * (TAIL - 1)) / TAIL;
}

function round(number) {
  return Number(number.toFixed(2));
}
