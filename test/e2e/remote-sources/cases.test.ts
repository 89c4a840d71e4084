// The same suite, with the timeline asking the social subgraph for what it shows. Set before the harness reads it.
process.env['TIDELINE_TEST_SOURCES'] = 'remote';
await import('../cases.test.js');
