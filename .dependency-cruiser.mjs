// The rooms of src/ as rules: `npm run check:boundaries`. To let a room use another one, add it to `rooms`
// in the commit that needs it and say why there.

// Room: the other rooms that it may import. The pattern of a room is its folder in src/.
const rooms = {
  domain: { imports: [], because: 'rules stay pure: testable without a server and usable from every room' },
  stores: { imports: ['domain', 'generated'], because: 'stores are where flows meet; they know no flow' },
  jobs: { imports: ['domain', 'stores'], because: 'the catalog describes jobs; who runs them depends on it' },
  social: { imports: ['domain', 'stores', 'jobs'], because: 'a publisher knows nothing of timelines' },
  fanout: { imports: ['domain', 'stores', 'jobs'], because: 'delivery starts from events, not from commands or reads' },
  feed: { imports: ['domain', 'stores', 'jobs'], because: 'a read never depends on how entries were delivered' },
  live: {
    imports: ['domain', 'stores', 'feed'],
    because: 'it tells what the read path would show; the read path does not know who listens',
  },
  streaming: { imports: ['domain'], because: 'open connections carry any GraphQL, of gateway and subgraphs alike' },
  verify: {
    imports: ['domain', 'stores', 'feed'],
    because: 'it judges what the read path shows by the authority alone, whatever was delivered',
  },
  subgraphs: {
    imports: ['domain', 'limits', 'social', 'feed', 'live', 'streaming'],
    because: 'resolvers are thin: they call commands and the read path',
  },
  limits: { imports: ['domain'], because: 'it judges any operation by its text and an SDL, at gateway and subgraphs' },
  gateway: {
    imports: ['domain', 'limits', 'streaming'],
    because: 'the gateway knows the subgraphs by their URLs only',
  },
  import: {
    imports: ['domain', 'stores'],
    because: 'lines become rows; who asks for it is the command line or the demo',
  },
  demo: { imports: ['domain', 'stores', 'import'], because: 'the demo has no insert path of its own' },
  embedded: { imports: [], because: 'it starts foreign servers and must not depend on what later uses them' },
};

// The entries and the wiring; they may import every room and no room may import them.
const edges = '^src/(app|main)\\.ts$|^src/(cli|operations|wiring)/|^workers/';
const clients = '(^|/)node_modules/(ioredis|pg|pg-copy-streams|@types/pg|@types/pg-copy-streams|@prisma)/';

const roomRules = Object.entries(rooms).map(([room, { imports, because }]) => ({
  name: `${room}-imports-${imports.join('-and-') || 'no-room'}`,
  comment: because,
  severity: 'error',
  from: { path: `^src/${room}/` },
  // Settings, logger, http server and identity check are no rooms: every process has them.
  to: {
    path: '^(src|workers)/',
    pathNot: [`^src/(${[room, ...imports].join('|')})/`, '^src/(config|log|http|identity)\\.ts$'],
  },
}));

export default {
  forbidden: [
    ...roomRules,
    {
      name: 'domain-has-no-packages',
      comment: 'rules without I/O need no package; what does I/O belongs to stores',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'domain-has-no-node-modules-but-crypto-for-cursors',
      comment: 'no I/O in domain; node:crypto signs cursors and does nothing else',
      severity: 'error',
      from: { path: '^src/domain/', pathNot: '^src/domain/cursor[^/]*\\.ts$' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'domain-cursor-uses-crypto-only',
      comment: 'no I/O in domain; node:crypto signs cursors and does nothing else',
      severity: 'error',
      from: { path: '^src/domain/cursor[^/]*\\.ts$' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?crypto$' },
    },
    {
      name: 'domain-takes-plain-values',
      comment: 'a rule names the few numbers that it needs, not the settings of the whole service, and does not log',
      severity: 'error',
      from: { path: '^src/(domain|stores|embedded)/' },
      to: { path: '^src/(config|log|http|identity)\\.ts$' },
    },
    {
      name: 'settings-are-handed-over',
      comment: 'settings and the logger are made once, at the edge; rooms may use their types, never load them',
      severity: 'error',
      from: { path: '^src/', pathNot: edges },
      to: { path: '^src/(config|log)\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'config-and-log-import-domain-only',
      comment: 'settings and the logger exist before anything else does',
      severity: 'error',
      from: { path: '^src/(config|log)\\.ts$' },
      to: { path: '^(src|workers)/', pathNot: '^src/domain/' },
    },
    {
      name: 'subgraphs-are-separate',
      comment: 'a company that has its own social services replaces that subgraph and keeps timeline',
      severity: 'error',
      from: { path: '^src/subgraphs/([^/]+)/' },
      to: { path: '^src/subgraphs/[^/]+/', pathNot: '^src/subgraphs/$1/' },
    },
    {
      name: 'entries-are-not-imported',
      comment: 'cli, main and workers are where processes begin; shared parts move to a room or to app',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/cli/' },
      to: { path: '^src/cli/|^src/main\\.ts$|^workers/' },
    },
    {
      name: 'cli-does-not-import-other-entries',
      comment: 'cli, main and workers are where processes begin; shared parts move to a room or to app',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: { path: '^src/main\\.ts$|^workers/' },
    },
    {
      name: 'clients-live-in-stores',
      comment:
        'only stores, jobs (the BullMQ connection) and app hold database and Redis clients; others ask for a store',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/(stores|jobs|generated|embedded)/|^src/app\\.ts$' },
      to: { path: `${clients}|^src/generated/` },
    },
    {
      name: 'embedded-is-for-development',
      comment: 'a production process never starts a database by accident',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/(embedded|cli)/|^src/main\\.ts$' },
      to: { path: '^src/embedded/' },
    },
    {
      name: 'production-without-dev-dependencies',
      comment: 'the image is installed with --omit=dev; embedded servers exist on development machines only',
      severity: 'error',
      // GraphiQL is imported when it is asked for, which production never does.
      from: { path: '^(src|workers)/', pathNot: '^src/embedded/|^src/gateway/graphiql\\.ts$' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'], pathNot: '/node_modules/@types/' },
    },
    {
      name: 'product-without-tests',
      comment: 'what ships does not depend on what measures or checks it',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { path: '^(test|bench|scripts)/' },
    },
    {
      name: 'no-cycles',
      comment: 'a cycle has no first file to read, and no order to start and stop in',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'a file that nothing imports and that imports nothing is forgotten',
      severity: 'error',
      from: {
        orphan: true,
        path: '^(src|workers|test|bench)/.*\\.ts$',
        pathNot: '\\.d\\.ts$|\\.test\\.ts$|^src/generated/',
      },
      to: {},
    },
    {
      name: 'no-unresolvable',
      comment: 'an import that does not resolve fails at run time',
      severity: 'error',
      from: { pathNot: '^src/generated/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'no-undeclared-packages',
      comment: 'a package that is only there through another one disappears with it',
      severity: 'error',
      from: { path: '^(src|workers|test|bench|scripts)/', pathNot: '^src/generated/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^src/generated/'] },
    exclude: { path: ['^dist/', '^\\.data/'] },
    tsConfig: { fileName: 'tsconfig.json' },
    // Type-only imports count as imports: a room that knows a type of another depends on it.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.cjs', '.json', '.d.ts'],
    },
  },
};
