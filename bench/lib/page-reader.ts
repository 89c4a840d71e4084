// A process that reads first pages of random inboxes, as a timeline subgraph beside the workers does, and tells how long each
// took. Started by bench/fanout.ts, which says when and from which layout.
import { Redis } from 'ioredis';
import { createLayouts, type Layout } from './inbox-layouts.js';

const PAUSE_MS = 4;

const [url = '', inboxes = '0', cap = '0'] = process.argv.slice(2);
const layouts = createLayouts(new Redis(url), Number(cap));
interface Reading {
  readonly layout: Layout;
  readonly ms: number[];
}
const state: { reading: Reading | null } = { reading: null };

process.on('message', (name: keyof typeof layouts | 'stop') => {
  if (name === 'stop') {
    process.send?.(state.reading?.ms ?? []);
    state.reading = null;
    return;
  }
  state.reading = { layout: layouts[name], ms: [] };
});
process.on('disconnect', () => process.exit(0));

for (;;) {
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  if (!state.reading) continue;
  const { layout, ms } = state.reading;
  const began = performance.now();
  await layout.readPage(BigInt(1 + Math.floor(Math.random() * Number(inboxes))));
  ms.push(performance.now() - began);
}
