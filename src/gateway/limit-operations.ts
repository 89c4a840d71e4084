import type { GatewayPlugin } from '@graphql-hive/gateway-runtime';
import { GraphQLError, parse, type DocumentNode, type ExecutionArgs, type ParseOptions, type Source } from 'graphql';
import type { Config } from '../config.js';
import type { ErrorCode } from '../domain/errors.js';
import type { Allowance } from '../domain/token-bucket.js';
import { createCostCalculator } from '../limits/operation-cost.js';
import { findExcess, tooComplex } from '../limits/operation-limits.js';
import { factsOf } from './request-context.js';

type LimitSettings = Pick<
  Config,
  'QUERY_TOKENS_MAX' | 'QUERY_DEPTH_MAX' | 'QUERY_ALIASES_MAX' | 'QUERY_DIRECTIVES_MAX' | 'QUERY_COST_MAX'
>;

interface LimitDeps {
  readonly config: LimitSettings;
  readonly supergraph: DocumentNode;
  /** Null when operations are not counted against their viewers. */
  readonly takePoints: ((key: string, cost: number) => Promise<Allowance>) | null;
}

/**
 * What stands between a request and its execution, cheapest first: tokens before the parser, shape before validation, cost
 * before the viewer's bucket. Nothing of an operation that is refused reaches a subgraph.
 */
export function limitOperations({ config, supergraph, takePoints }: LimitDeps): GatewayPlugin {
  const costOf = createCostCalculator(supergraph);
  const findExcessOnce = rememberByDocument((document) =>
    findExcess(document, {
      depthMax: config.QUERY_DEPTH_MAX,
      aliasesMax: config.QUERY_ALIASES_MAX,
      directivesMax: config.QUERY_DIRECTIVES_MAX,
    }),
  );

  async function refusalOf({ document, operationName, variableValues, contextValue }: ExecutionArgs) {
    const facts = factsOf(contextValue);
    const cost = costOf({ document, operationName, variables: variableValues });
    if (facts) facts.cost = cost;
    if (cost > config.QUERY_COST_MAX) {
      return tooComplex(`costs ${cost}, more than ${config.QUERY_COST_MAX}: ask for smaller pages or fewer fields`);
    }
    if (!facts || !takePoints) return null;
    facts.allowance = await takePoints(facts.payer, cost);
    return facts.allowance.isAllowed ? null : rateLimited(facts.allowance);
  }

  return {
    onParse: ({ setParseFn }) => {
      setParseFn((source: string | Source, options?: ParseOptions) =>
        parse(source, { ...options, maxLexicalTokens: config.QUERY_TOKENS_MAX }),
      );
    },
    onValidate: ({ params, setResult }) => {
      const excess = findExcessOnce(params.documentAST as DocumentNode);
      if (excess) setResult([excess]);
    },
    async onExecute({ args, setResultAndStopExecution }) {
      const refusal = await refusalOf(args);
      if (refusal) setResultAndStopExecution({ errors: [withStatus(refusal)] });
    },
    async onSubscribe({ args, setResultAndStopExecution }) {
      const refusal = await refusalOf(args);
      if (refusal) setResultAndStopExecution({ errors: [withStatus(refusal)] });
    },
    onExecutionResult(executed) {
      const { result, context } = executed;
      const facts = factsOf(context);
      if (!facts?.wantsCost || facts.cost === undefined || !result || !('errors' in result || 'data' in result)) return;
      const cost = { requested: facts.cost, maximum: config.QUERY_COST_MAX };
      executed.setResult({ ...result, extensions: { ...result.extensions, cost } });
    },
  };
}

function rateLimited({ retryAfterSeconds }: Allowance): GraphQLError {
  const seconds = `${retryAfterSeconds} ${retryAfterSeconds === 1 ? 'second' : 'seconds'}`;
  return new GraphQLError(`Too many requests. Try again in ${seconds}.`, {
    extensions: { code: 'RATE_LIMITED' satisfies ErrorCode },
  });
}

/** 429 tells every client to wait; a refused operation is otherwise a GraphQL answer like one that failed validation. */
function withStatus(error: GraphQLError): GraphQLError {
  const isLimited = error.extensions['code'] === ('RATE_LIMITED' satisfies ErrorCode);
  const http = isLimited ? { status: 429 } : { status: 400, spec: true };
  return new GraphQLError(error.message, { extensions: { ...error.extensions, http } });
}

/** Documents are cached by their text, and with them what is said of them. */
function rememberByDocument<T>(find: (document: DocumentNode) => T): (document: DocumentNode) => T {
  const known = new WeakMap<DocumentNode, { readonly found: T }>();
  return (document) => {
    const remembered = known.get(document) ?? { found: find(document) };
    known.set(document, remembered);
    return remembered.found;
  };
}
