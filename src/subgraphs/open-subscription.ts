import {
  getOperationAST,
  GraphQLError,
  OperationTypeNode,
  parse,
  subscribe,
  validate,
  type DocumentNode,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLSchema,
} from 'graphql';
import { mapStream, once, type Results } from '../streaming/results.js';
import { formatError } from './errors.js';
import type { JudgeOperation } from './limit-operations.js';

export interface SubscriptionRequest {
  readonly query?: unknown;
  readonly variables?: unknown;
  readonly operationName?: unknown;
}

export interface SubscriptionSettings {
  readonly schema: GraphQLSchema;
  /** QUERY_TOKENS_MAX */
  readonly tokensMax: number;
  readonly hideSuggestions: boolean;
  readonly judge: JudgeOperation;
  readonly onError: (error: GraphQLError) => void;
}

/**
 * Starts a subscription of the schema; Apollo Server runs queries and mutations only. What is wrong with it is its first
 * and only result, in the shape that Apollo Server gives to errors.
 */
export async function openSubscription(
  settings: SubscriptionSettings,
  request: SubscriptionRequest,
  contextValue: object,
): Promise<Results> {
  const format = ({ data, errors }: ExecutionResult): FormattedExecutionResult => {
    errors?.forEach(settings.onError);
    return {
      ...(data !== undefined && { data }),
      ...(errors && { errors: errors.map((error) => formatError(error.toJSON(), error)) }),
    };
  };
  const started = await start(settings, request, contextValue);
  return Symbol.asyncIterator in started ? mapStream(started, format) : once(format(started));
}

async function start(
  { schema, tokensMax, hideSuggestions, judge }: SubscriptionSettings,
  { query, variables, operationName }: SubscriptionRequest,
  contextValue: object,
): Promise<AsyncGenerator<ExecutionResult, void, void> | ExecutionResult> {
  if (typeof query !== 'string') return refusal('BAD_USER_INPUT', [{ message: 'The request needs a query.' }]);
  const document = parseWithin(query, tokensMax);
  if (document instanceof GraphQLError) return refusal('GRAPHQL_PARSE_FAILED', [document]);
  const faults = validate(schema, document, undefined, { hideSuggestions });
  if (faults.length > 0) return refusal('GRAPHQL_VALIDATION_FAILED', faults);
  const name = typeof operationName === 'string' ? operationName : null;
  if (getOperationAST(document, name)?.operation !== OperationTypeNode.SUBSCRIPTION) {
    return refusal('BAD_USER_INPUT', [{ message: 'Only a subscription can be answered by a stream.' }]);
  }
  const variableValues = typeof variables === 'object' ? (variables as Record<string, unknown> | null) : null;
  try {
    judge({ document, operationName: name, variables: variableValues ?? {} });
  } catch (error) {
    if (error instanceof GraphQLError) return { errors: [error] };
    throw error;
  }
  const result = await subscribe({ schema, document, variableValues, operationName: name, contextValue });
  if (Symbol.asyncIterator in result) return result;
  // Without a path: the variables do not fit.
  const isRefused = result.errors?.every(({ path }) => !path) ?? false;
  return isRefused ? refusal('BAD_USER_INPUT', result.errors ?? []) : result;
}

function parseWithin(query: string, maxLexicalTokens: number): DocumentNode | GraphQLError {
  try {
    return parse(query, { maxLexicalTokens });
  } catch (error) {
    if (error instanceof GraphQLError) return error;
    throw error;
  }
}

const refusal = (code: string, errors: readonly Pick<GraphQLError, 'message'>[]): ExecutionResult => ({
  errors: errors.map(({ message }) => new GraphQLError(message, { extensions: { code } })),
});
