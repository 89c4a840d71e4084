// After this import the process can import the TypeScript sources as they are, on Node 20 too:
// `node --import ./scripts/lib/register-typescript.mjs bench/some.ts`.
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
