#!/usr/bin/env node
// Exits 0 when the process of this container is ready: `node scripts/healthcheck.mjs [port]`, 4000 by default.
const port = process.argv[2] ?? '4000';

try {
  const response = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(4_000) });
  process.exitCode = response.ok ? 0 : 1;
} catch (error) {
  console.error(`No answer on port ${port}: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
