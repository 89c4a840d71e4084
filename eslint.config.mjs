import graphql from '@graphql-eslint/eslint-plugin';
import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import { defineConfig } from 'eslint/config';
import globals from 'globals';
import tseslint from 'typescript-eslint';

const emptyCatch = {
  selector: 'CatchClause > BlockStatement[body.length=0]',
  message: 'Handle the failure, or turn it into a value: no empty catch.',
};
const emptyCatchCallback = {
  selector: "CallExpression[callee.property.name='catch'] > :function > BlockStatement[body.length=0]",
  message: 'Handle the failure, or turn it into a value: no empty catch.',
};
const environmentMessage = 'Read settings through src/config.ts, the only reader of the environment.';

export default defineConfig(
  { ignores: ['dist/', 'coverage/', '.data/', 'node_modules/', 'src/generated/', 'src/subgraphs/*/generated.ts'] },
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    languageOptions: { ecmaVersion: 2023, sourceType: 'module', globals: globals.nodeBuiltin },
  },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-restricted-syntax': ['error', emptyCatch, emptyCatchCallback],
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'no-var': 'error',
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // `() => close()` is clear enough, and numbers and bigints read well inside a template.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      // A function may be async for its signature alone: a reference resolver has to be (see below).
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['src/**/*.ts', 'workers/**/*.ts'],
    rules: {
      'no-restricted-properties': ['error', { object: 'process', property: 'env', message: environmentMessage }],
      'no-restricted-imports': [
        'error',
        {
          paths: ['process', 'node:process'].map((name) => ({
            name,
            importNames: ['env'],
            message: environmentMessage,
          })),
        },
      ],
      'no-console': 'error',
    },
  },
  { files: ['src/config.ts'], rules: { 'no-restricted-properties': 'off', 'no-restricted-imports': 'off' } },
  // REDIS_SERVER_BIN, and the environment handed on to the servers that it starts.
  { files: ['src/embedded/**/*.ts'], rules: { 'no-restricted-properties': 'off' } },
  { files: ['src/cli/**/*.ts', 'src/main.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['src/subgraphs/**/*.ts'],
    // A synchronous throw in __resolveReference nulls every row of that entity.
    rules: { '@typescript-eslint/promise-function-async': ['error', { checkArrowFunctions: false }] },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    // Answers of the gateway are JSON: the assertions are their type check.
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  {
    // Relay and Apollo clients page by these rules. The parser keeps one schema a process, so it is given both.
    files: ['schema/{timeline,social}.graphql'],
    plugins: { '@graphql-eslint': graphql },
    languageOptions: {
      parser: graphql.parser,
      parserOptions: { graphQLConfig: { schema: 'schema/{timeline,social}.graphql' } },
    },
    rules: {
      ...graphql.configs['flat/schema-relay'].rules,
      // Connections of the social subgraph walk one way.
      '@graphql-eslint/relay-arguments': ['error', { includeBoth: false }],
      // `nodes` beside `edges`, and plain lists such as a post's media, are part of the contract.
      '@graphql-eslint/relay-edge-types': ['error', { listTypeCanWrapOnlyEdgeType: false }],
    },
  },
  prettier,
);
