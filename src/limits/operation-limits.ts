import { GraphQLError, Kind, type DocumentNode, type FragmentDefinitionNode, type SelectionSetNode } from 'graphql';
import type { ErrorCode } from '../domain/errors.js';

/** What one document may hold. Each counts what the operation becomes when its fragments are spread. */
export interface OperationLimits {
  /** Levels of nested fields. Introspection is not counted, as the query of every GraphQL tool is deep. */
  readonly depthMax: number;
  readonly aliasesMax: number;
  readonly directivesMax: number;
}

/** Fragments that spread others twice double the operation at every step, out of a few tokens. */
const SELECTIONS_MAX = 10_000;

/**
 * The first limit that a document exceeds, null when it keeps them all. Looks at no more than SELECTIONS_MAX selections,
 * so that it is cheap before validation, which is not (it compares fields pairwise).
 */
export function findExcess(document: DocumentNode, limits: OperationLimits): GraphQLError | null {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const counted = { depth: 0, aliases: 0, directives: 0, selections: 0 };
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      counted.directives += definition.directives?.length ?? 0;
      measure(definition.selectionSet, { level: 1, isHidden: false, spread: new Set(), fragments, counted });
    }
  }
  if (counted.selections > SELECTIONS_MAX) return tooComplex(`selects more than ${SELECTIONS_MAX} fields`);
  if (counted.depth > limits.depthMax) return tooComplex(`nests fields deeper than ${limits.depthMax} levels`);
  if (counted.aliases > limits.aliasesMax) return tooComplex(`has more than ${limits.aliasesMax} aliases`);
  if (counted.directives > limits.directivesMax) return tooComplex(`has more than ${limits.directivesMax} directives`);
  return null;
}

/** @param excess goes on "The operation ..." */
export const tooComplex = (excess: string): GraphQLError =>
  new GraphQLError(`The operation ${excess}.`, {
    extensions: { code: 'OPERATION_TOO_COMPLEX' satisfies ErrorCode },
  });

interface Place {
  readonly level: number;
  /** Below an introspection field. */
  readonly isHidden: boolean;
  readonly spread: ReadonlySet<string>;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly counted: { depth: number; aliases: number; directives: number; selections: number };
}

function measure(selectionSet: SelectionSetNode, place: Place): void {
  const { level, isHidden, spread, fragments, counted } = place;
  for (const selection of selectionSet.selections) {
    counted.selections += 1;
    if (counted.selections > SELECTIONS_MAX) return;
    counted.directives += selection.directives?.length ?? 0;
    switch (selection.kind) {
      case Kind.FIELD: {
        const hides = isHidden || selection.name.value.startsWith('__');
        if (selection.alias) counted.aliases += 1;
        if (!hides) counted.depth = Math.max(counted.depth, level);
        if (selection.selectionSet) measure(selection.selectionSet, { ...place, level: level + 1, isHidden: hides });
        break;
      }
      case Kind.INLINE_FRAGMENT:
        measure(selection.selectionSet, place);
        break;
      case Kind.FRAGMENT_SPREAD: {
        const fragment = fragments.get(selection.name.value);
        // A cycle is refused by a rule of GraphQL's own.
        if (!fragment || spread.has(selection.name.value)) break;
        measure(fragment.selectionSet, { ...place, spread: new Set([...spread, selection.name.value]) });
        break;
      }
    }
  }
}
