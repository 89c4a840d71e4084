// Prints `N passed, N failed, N skipped` as the last line of a run, for scripts that read only that line.
// Jest's own summary and the global teardown come after a reporter's turn, so the line waits for the process to end.
export default class SummaryReporter {
  onRunComplete(_contexts, results) {
    // A suite that does not even load, and a run that stops half way, count as one failure each.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites + (results.runExecError ? 1 : 0);
    const skipped = results.numPendingTests + results.numTodoTests;
    process.once('exit', () =>
      process.stdout.write(`${results.numPassedTests} passed, ${failed} failed, ${skipped} skipped\n`),
    );
  }
}
