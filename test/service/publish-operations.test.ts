import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { parseOperationList } from '../../src/gateway/operation-list.js';
import { writeTempFile } from '../harness/tiny-subgraphs.js';

const run = (...args: string[]) =>
  new Promise<{ code: number; text: string }>((resolve) => {
    const loader = ['--import', './scripts/lib/register-typescript.mjs', 'src/cli/main.ts', 'publish-operations'];
    execFile(process.execPath, [...loader, ...args], { env: { ...process.env, NODE_OPTIONS: '' } }, (error, out, err) =>
      resolve({ code: error ? 1 : 0, text: out + err }),
    );
  });
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

test('operations of files and manifests are validated and added; a bad one leaves the list as it was', async () => {
  const [me, feed, other] = [
    'query Me { viewer { id } }',
    'query Feed { timelineFeed { nodes { text } } }',
    '{ viewer { handle } }',
  ];
  const relay = writeTempFile('relay.json', JSON.stringify({ anything: feed }));
  const apollo = writeTempFile('apollo.json', JSON.stringify({ operations: [{ id: 'x', body: other }] }));
  const list = path.join(path.dirname(relay), 'operations.json');

  const published = await run(writeTempFile('me.graphql', me), relay, '--to', list);
  expect(published).toMatchObject({ code: 0, text: expect.stringContaining(`${hashOf(me)} Me\n`) });
  expect([...parseOperationList(readFileSync(list, 'utf8')).values()].sort()).toEqual([feed, me].sort());

  const bad = await run(apollo, writeTempFile('bad.graphql', 'query Bad { nothing }'), '--to', list);
  expect(bad).toMatchObject({ code: 1, text: expect.stringContaining('Cannot query field "nothing"') });
  expect(parseOperationList(readFileSync(list, 'utf8')).size).toBe(2);

  await run(apollo, '--to', list, '--replace');
  expect([...parseOperationList(readFileSync(list, 'utf8'))]).toEqual([[hashOf(other), other]]);
});

test('a list with a text under a wrong hash is no list', () => {
  expect(() => parseOperationList(JSON.stringify({ [hashOf('{ a }')]: '{ b }' }))).toThrow('another text');
});
