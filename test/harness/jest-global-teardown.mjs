// As jest-global-setup.mjs, for the teardown.
import '../../scripts/lib/register-typescript.mjs';

export default async function runGlobalTeardown(...args) {
  const { default: teardown } = await import('./global-teardown.ts');
  return teardown(...args);
}
