import { GraphQLError, Kind, type ASTVisitor, type SelectionSetNode, type ValidationContext } from 'graphql';
import type { ErrorCode } from '../domain/errors.js';

/**
 * A validation rule: no operation nests fields deeper than `depthMax`. Introspection is not counted, as the query of
 * every GraphQL tool is deep; fragments are, where they are spread.
 */
export const limitDepth =
  (depthMax: number) =>
  (context: ValidationContext): ASTVisitor => ({
    OperationDefinition(operation) {
      if (depthOf(operation.selectionSet, context, new Set()) <= depthMax) return;
      const code: ErrorCode = 'OPERATION_TOO_COMPLEX';
      const message = `The operation nests fields deeper than ${depthMax} levels.`;
      context.reportError(new GraphQLError(message, { nodes: operation, extensions: { code } }));
    },
  });

function depthOf(selectionSet: SelectionSetNode, context: ValidationContext, spread: ReadonlySet<string>): number {
  const depths = selectionSet.selections.map((selection) => {
    switch (selection.kind) {
      case Kind.FIELD:
        if (selection.name.value.startsWith('__') || !selection.selectionSet) return 1;
        return 1 + depthOf(selection.selectionSet, context, spread);
      case Kind.INLINE_FRAGMENT:
        return depthOf(selection.selectionSet, context, spread);
      case Kind.FRAGMENT_SPREAD: {
        const name = selection.name.value;
        const fragment = context.getFragment(name);
        // A cycle is refused by a rule of GraphQL's own.
        if (!fragment || spread.has(name)) return 0;
        return depthOf(fragment.selectionSet, context, new Set([...spread, name]));
      }
    }
  });
  return Math.max(0, ...depths);
}
