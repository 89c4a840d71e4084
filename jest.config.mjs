// Run through scripts/test.mjs, which sets NODE_OPTIONS=--experimental-vm-modules (test files are ES modules).
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // Compiled code in dist/ is not under test, and a second package.json must not confuse the module map.
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.data/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' }, keepClassNames: true },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  globalSetup: '<rootDir>/test/harness/jest-global-setup.mjs',
  globalTeardown: '<rootDir>/test/harness/jest-global-teardown.mjs',
  reporters: ['default', '<rootDir>/test/harness/summary-reporter.mjs'],
  maxWorkers: 2,
  testTimeout: 60_000,
};
