import type { ApolloServerPlugin } from '@apollo/server';
import type { DocumentNode } from 'graphql';
import type { Config } from '../config.js';
import { createCostCalculator } from '../limits/operation-cost.js';
import { findExcess, tooComplex } from '../limits/operation-limits.js';

type LimitSettings = Pick<Config, 'QUERY_DEPTH_MAX' | 'QUERY_ALIASES_MAX' | 'QUERY_DIRECTIVES_MAX' | 'QUERY_COST_MAX'>;

/** A gateway's planner adds aliases of its own, where fields of several types would collide. */
const PLANNED_ALIASES = 4;

/** @throws GraphQLError OPERATION_TOO_COMPLEX */
export type JudgeOperation = (operation: Parameters<ReturnType<typeof createCostCalculator>>[0]) => void;

/**
 * The gateway's limits once more, for whoever reaches a subgraph by another way, before anything of the operation runs.
 * `_entities` counts as often as it has representations.
 */
export function createJudge(config: LimitSettings, typeDefs: DocumentNode): JudgeOperation {
  const costOf = createCostCalculator(typeDefs);
  const limits = {
    depthMax: config.QUERY_DEPTH_MAX,
    aliasesMax: PLANNED_ALIASES * config.QUERY_ALIASES_MAX,
    directivesMax: config.QUERY_DIRECTIVES_MAX,
  };
  return (operation) => {
    const excess = findExcess(operation.document, limits);
    if (excess) throw excess;
    const cost = costOf(operation);
    if (cost > config.QUERY_COST_MAX) throw tooComplex(`costs ${cost}, more than ${config.QUERY_COST_MAX}`);
  };
}

export const limitOperations = <Context extends object>(judge: JudgeOperation): ApolloServerPlugin<Context> => ({
  requestDidStart: async () => ({
    didResolveOperation: async ({ document, operationName, request: { variables } }) => {
      judge({ document, operationName, variables });
    },
  }),
});
