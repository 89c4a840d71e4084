#!/usr/bin/env node
// `npm run mutation-check [-- NAME ...]`: breaks each invariant of the feed on purpose, in a copy of the tree, and expects
// red. A break that stays green is a test that cannot fail. Takes about a minute a break; not part of `npm test`.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './lib/stamps.mjs';

const model = 'test/service/feed-model.test.ts';
const inbox = 'test/service/inbox-store.test.ts';
const inFlight = 'test/service/in-flight.test.ts';
const counters = 'test/service/social/counters.test.ts';
const unit = 'test/unit';

// file, text to replace (must occur), replacement, tests that must turn red
const breaks = {
  'redis floor not raised at trim': ['src/stores/inbox/lua/zset/head.lua', 'for i = 6, 8 do', 'for i = 9, 8 do', inbox],
  'packed floor not raised at trim': [
    'src/stores/inbox/lua/packed/insert.lua',
    '    trimmed = 1\n    if count > 0',
    '    if count > 0',
    inbox,
  ],
  'packed fill lowers a floor below a trim': [
    'src/stores/inbox/lua/packed/fill.lua',
    'newest_floor(ARGV[4], trim_floor)',
    'ARGV[4]',
    inbox,
  ],
  'packed floor sinks with a late arrival': [
    'src/stores/inbox/lua/packed/insert.lua',
    '    settle(key, start, count, recent)\n    trimmed = 0\n',
    '',
    'test/service/packed-inbox.test.ts',
  ],
  'a cut string passes for a whole one': [
    'src/stores/inbox/lua/packed/insert.lua',
    '  if is_whole then',
    '  if true then',
    'test/service/packed-inbox.test.ts',
  ],
  'postgres floor not raised at trim': [
    'src/stores/inbox/postgres.ts',
    'allFloor: newestOf(head.allFloor, oldest)',
    'allFloor: head.allFloor',
    inbox,
  ],
  'fill lowers a floor below a trim': [
    'src/stores/inbox/lua/zset/fill.lua',
    'newest_floor(ARGV[7], fields[8])',
    'ARGV[7]',
    inbox,
  ],
  'fill by an overtaken rebuild': ['src/stores/inbox/lua/zset/fill.lua', 'or fields[9] ~= ARGV[1] ', '', inbox],
  'push creates an inbox': [
    'src/stores/inbox/lua/zset/insert.lua',
    'if fields then',
    'if true then fields = fields or {}',
    inbox,
  ],
  'in-flight list ignored': [
    'src/feed/candidates.ts',
    'mergeEntries([reader.inFlight, inbox.entries]',
    'mergeEntries([inbox.entries]',
    model,
  ],
  'in-flight list cut short by what others have in flight': [
    'src/stores/reader-state.ts',
    '(SELECT count(*) FROM next) < ${IN_FLIGHT_WINDOW}',
    'true',
    inFlight,
  ],
  'in-flight list of one author only': [
    'src/stores/reader-state.ts',
    "${inOrder('first')} LIMIT $4",
    "${inOrder('first')} LIMIT 1",
    inFlight,
  ],
  'in-flight list read after the inbox': [
    'src/feed/candidates.ts',
    'const state = await readReaderState(',
    'const early = await readInbox(deps, userId, walk, 2n ** 62n);\n  const state = await readReaderState(',
    'test/service/delivered-meanwhile.test.ts',
    ['usesInbox ? await readInbox(deps, userId, walk, reader.epoch) :', 'usesInbox ? early :'],
  ],
  'activity mark written late': [
    'src/feed/scan.ts',
    '  return readCandidates(deps, userId, walk);\n}',
    '  return batch;\n}',
    model,
  ],
  'return after ACTIVE_DAYS ignored': [
    'src/domain/inbox-head.ts',
    'head.activeSeq === reader.activeSeq ?',
    'head.activeSeq !== -1n ?',
    model,
  ],
  'return after DORMANT_DAYS ignored': [
    'src/domain/inbox-head.ts',
    ' || head.awakeSeq !== reader.awakeSeq) return',
    ') return',
    model,
  ],
  'change of policy ignored': [
    'src/domain/inbox-head.ts',
    'head.epoch !== reader.epoch || head.awake',
    'head.awake',
    'test/service/policy-change.test.ts',
  ],
  'follows not covered are not pulled': [
    'src/feed/candidates.ts',
    'followSeq > floors.followSeq ? ENTRY_TOP : ',
    '',
    model,
  ],
  'backfill before the follow commits': [
    'src/fanout/rebuild-inbox.ts',
    '{ ...reader, entries,',
    '{ ...reader, followSeq: reader.followSeq + 1n, entries,',
    model,
  ],
  'rebuild begins after its pull': [
    'src/fanout/rebuild-inbox.ts',
    '    await deps.inbox.begin(userId, nonce);\n',
    '',
    'test/service/rebuild-order.test.ts',
    ['    const isWhole =', '    await deps.inbox.begin(userId, nonce);\n    const isWhole ='],
  ],
  'big accounts are not pulled': [
    'src/feed/candidates.ts',
    'isPulled ? floors.activeFloor : floors.allFloor',
    'floors.allFloor',
    model,
  ],
  'mode recorded without marking its author': [
    'src/stores/fanouts.ts',
    "if (mode === 'ACTIVE_FOLLOWERS')",
    "if (mode === 'NOBODY')",
    model,
  ],
  'a post leaves the in-flight list before its last task': [
    'src/stores/fanout-tasks.ts',
    "WHEN f.is_planned AND f.finished_task_count + 1 = f.task_count THEN 'DONE'",
    "WHEN true THEN 'DONE'",
    model,
  ],
  'projection not written before the plan ends': [
    'src/fanout/plan-fanout.ts',
    'if (isPulled) await deps.outboxes.insert',
    'if (!isPulled) await deps.outboxes.insert',
    model,
  ],
  'another Redis taken for the same': [
    'src/stores/feed-state.ts',
    'WHERE id = 1 AND redis_id <> $1 RETURNING',
    'WHERE id = 1 AND false RETURNING',
    'test/service/regressions',
  ],
  'clean-up removes what came back': [
    'src/stores/inbox/lua/zset/remove.lua',
    "ARGV[1] ~= '' and fields[3] ~= ARGV[1]",
    'false',
    inbox,
  ],
  'age trim of a sorted set without floors': [
    'src/stores/inbox/lua/zset/trim-older.lua',
    'for i = 6, 8 do',
    'for i = 9, 8 do',
    'test/service/maintenance.test.ts',
  ],
  'age trim of a packed inbox without floors': [
    'src/stores/inbox/lua/packed/trim-older.lua',
    "newest_floor(call('GETRANGE', key, at, at + 14), ARGV[2])",
    "call('GETRANGE', key, at, at + 14)",
    'test/service/maintenance.test.ts',
  ],
  'a task that runs twice counts twice': [
    'src/stores/fanout-tasks.ts',
    'greatest(delivered_count, $4)',
    'delivered_count + $4',
    'test/service/delivery.test.ts',
  ],
  'an author may have all executors': [
    'src/fanout/author-shares.ts',
    'if (now >= most) return null;',
    '',
    'test/service/worker-life.test.ts',
  ],
  'tie broken as text': [
    'src/domain/entry.ts',
    'a.contentId > b.contentId ?',
    'String(a.contentId) > String(b.contentId) ?',
    unit,
  ],
  'cursor signature unchecked': ['src/domain/cursor.ts', '!keys.some((key)', 'false && !keys.some((key)', unit],
  'posts of deleted accounts shown': [
    'src/stores/visibility.ts',
    " OR ${isDeletedSql('c.author_id')}",
    '',
    'test/service/social/delete-account.test.ts',
  ],
  'tokens of deleted accounts write': [
    'src/stores/users.ts',
    'if (!(await holdUser(db, userId))) throw accountDeleted();',
    'await holdUser(db, userId);',
    'test/service/social/delete-account.test.ts',
  ],
  'followers of one account wait for each other': [
    'src/stores/follower-counts.ts',
    'FOR NO KEY UPDATE SKIP LOCKED',
    'FOR NO KEY UPDATE',
    'test/service/social/follow-counts.test.ts',
  ],
  'foreign answer about something else taken': [
    'src/feed/remote-rows.ts',
    'expectId(content.contentId, contentId);',
    '',
    'test/service/remote-sources.test.ts',
  ],
  'a lower version of a reaction counts': [
    'src/stores/reactions.ts',
    "'excluded.version > r.version OR",
    "'true OR",
    'test/service/social/reaction-storm.test.ts',
  ],
  'a fold takes the row below zero': [
    'src/stores/counter-shards.ts',
    "WHERE folded > 0 AND ${COUNTER_NAMES.map((name) => `c.${name} + total.${name} >= 0`).join(' AND ')}",
    'WHERE folded > 0',
    counters,
  ],
  'older counts replace later ones': ['src/stores/lua/save-counts.lua', '<= tonumber(version)', '<= 2 ^ 62', counters],
  'a restarted Redis is believed': ['src/stores/count-projection.ts', ':${serverId.slice(0, 12)}:', ':', counters],
  'changes are forgotten before they are projected': [
    'src/social/project-counters.ts',
    'await projection.save(await readAllCounts(client, contentIds));',
    'await projection.save(await readAllCounts(client, contentIds)).catch(() => undefined);',
    counters,
  ],
  'a comment index that is out of date is shown': [
    'src/social/read-comments.ts',
    "if (version !== index.version) return 'out of date';",
    'if (version < 0n) return [];',
    'test/service/social/comment-pages.test.ts',
  ],
  'an update that waits is taken for a difference': [
    'src/social/reconcile-counters.ts',
    '!projected || waiting.has(id)',
    '!projected',
    'test/service/social/reconcile.test.ts',
  ],
};

const only = process.argv.slice(2);
const survivors = [];
for (const [name, [file, from, to, tests, also]] of Object.entries(breaks)) {
  if (only.length > 0 && !only.includes(name)) continue;
  const killed = isKilled({ file, edits: also ? [[from, to], also] : [[from, to]], tests });
  console.log(`${killed ? 'red  ' : 'GREEN'}  ${name}`);
  if (!killed) survivors.push(name);
}
console.log(survivors.length === 0 ? 'Every break was noticed.' : `Not noticed: ${survivors.join('; ')}`);
process.exitCode = survivors.length === 0 ? 0 : 1;

function isKilled({ file, edits, tests }) {
  const copy = path.join(root, '.data', 'mutant');
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(path.join(copy, '.data'), { recursive: true });
  for (const part of ['src', 'test', 'schema', 'prisma', 'scripts', 'package.json', 'jest.config.mjs']) {
    cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
  }
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  symlinkSync(path.join(root, '.data', 'cache'), path.join(copy, '.data', 'cache'));
  const target = path.join(copy, file);
  let text = readFileSync(target, 'utf8');
  for (const [from, to] of edits) {
    if (!text.includes(from)) throw new Error(`${file} no longer has: ${from}`);
    text = text.replace(from, to);
  }
  writeFileSync(target, text);
  const jest = [path.join('node_modules', 'jest', 'bin', 'jest.js'), '--silent', '--bail', tests];
  const env = { ...process.env, FEED_MODEL_SHRINK: 'off', FEED_MODEL_RUNS: process.env.FEED_MODEL_RUNS ?? '60' };
  const run = spawnSync(process.execPath, ['--experimental-vm-modules', ...jest], { cwd: copy, env, encoding: 'utf8' });
  rmSync(copy, { recursive: true, force: true });
  // Red means that a test failed, not that the copy does not even load.
  const isRed = run.status !== 0;
  if (isRed && !/^Tests:.* failed/m.test(run.stderr)) {
    throw new Error(`the tests of the break do not run:\n${run.stderr}`);
  }
  return isRed;
}
