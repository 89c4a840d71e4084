import { discardRun } from './run-folder.js';

/** Everything that the run started ends here, also what a failed test forgot to stop. */
export default async function tearDownRun(): Promise<void> {
  const runDir = process.env['TIDELINE_TEST_DIR'];
  if (runDir) await discardRun(runDir);
}
