// Jest loads globalSetup as CommonJS without its module map, so that a TypeScript file there cannot import
// '../../src/x.js'. This lets Node import it as the ES module it is.
import '../../scripts/lib/register-typescript.mjs';

export default async function runGlobalSetup(...args) {
  const { default: setup } = await import('./global-setup.ts');
  return setup(...args);
}
