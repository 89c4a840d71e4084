import {
  getOperationAST,
  Kind,
  valueFromASTUntyped,
  type ArgumentNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { PAGE_SIZE_MAX } from '../domain/page-request.js';
import { readSchemaCosts, type FieldCost, type SchemaCosts } from './schema-costs.js';

type Variables = Readonly<Record<string, unknown>>;

interface Operation {
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variables?: Variables | null | undefined;
}

/**
 * What an operation may cost at most, before it runs: for each field its weight (`@cost`, else 0), and for each object of
 * it the weight of the type (`@cost`, else 1 for types with fields of their own) and the cost of its selections. A
 * list counts as often as its slicing argument says (`@listSize`), else as it has items in its list argument
 * (`nodes(ids:)`), else `assumedSize`, else LIST_SIZE_DEFAULT. `@skip` and `@include` are not looked at, and fragments
 * count whatever type they are for. Slices count up to PAGE_SIZE_MAX: a subgraph refuses longer pages with a better error.
 *
 * @param typeDefs the SDL of a subgraph or a supergraph, with the directives in it.
 */
export function createCostCalculator(typeDefs: DocumentNode): (operation: Operation) => number {
  const costs = readSchemaCosts(typeDefs);
  return ({ document, operationName, variables }) => {
    const operation = getOperationAST(document, operationName);
    const root = operation ? costs.roots[operation.operation] : undefined;
    if (!operation || root === undefined) return 0;
    const given = { ...defaultsOf(operation), ...variables };
    return costOf(operation.selectionSet, { typeName: root, sizes: null, costs, given, document });
  };
}

const LIST_SIZE_DEFAULT = 10;

interface Place {
  readonly typeName: string;
  /** What the parent's `sizedFields` says of its children's lengths. */
  readonly sizes: { readonly fields: readonly string[]; readonly size: number } | null;
  readonly costs: SchemaCosts;
  readonly given: Variables;
  readonly document: DocumentNode;
}

function costOf(selectionSet: SelectionSetNode, place: Place): number {
  return selectionSet.selections.reduce((sum, selection) => {
    switch (selection.kind) {
      case Kind.FIELD:
        return sum + costOfField(selection, place);
      case Kind.INLINE_FRAGMENT: {
        const typeName = selection.typeCondition?.name.value ?? place.typeName;
        return sum + costOf(selection.selectionSet, { ...place, typeName });
      }
      case Kind.FRAGMENT_SPREAD: {
        // Validation has passed: the fragment exists and spreads itself nowhere.
        const fragment = findFragment(place.document, selection.name.value);
        return sum + (fragment ? costOf(fragment.selectionSet, withType(place, fragment)) : 0);
      }
    }
  }, 0);
}

function costOfField(node: FieldNode, place: Place): number {
  const { costs, given } = place;
  const field = costs.fields.get(`${place.typeName}.${node.name.value}`);
  // Introspection and __typename.
  if (!field) return 0;
  const size = sliceOf(node, field, given);
  const { sizedFields } = field;
  const below = node.selectionSet
    ? costOf(node.selectionSet, {
        ...place,
        typeName: field.typeName,
        sizes: sizedFields.length > 0 && size !== null ? { fields: sizedFields, size } : null,
      })
    : 0;
  return field.weight + lengthOf(node, field, place, size) * ((costs.types.get(field.typeName) ?? 0) + below);
}

function lengthOf(node: FieldNode, field: FieldCost, place: Place, size: number | null): number {
  if (!field.isList) return 1;
  if (place.sizes?.fields.includes(node.name.value)) return place.sizes.size;
  if (size !== null) return size;
  const lists = (node.arguments ?? []).map((argument) => valueOf(argument, place.given)).filter(Array.isArray);
  return lists[0]?.length ?? LIST_SIZE_DEFAULT;
}

/** Null when nothing is said about it. */
function sliceOf(node: FieldNode, field: FieldCost, given: Variables): number | null {
  const slices = field.slicingArguments.flatMap((name) => {
    const argument = node.arguments?.find((candidate) => candidate.name.value === name);
    const value = argument ? valueOf(argument, given) : field.defaults[name];
    return typeof value === 'number' ? [Math.min(Math.max(value, 0), PAGE_SIZE_MAX)] : [];
  });
  return slices.length > 0 ? Math.max(...slices) : field.assumedSize;
}

const valueOf = ({ value }: ArgumentNode, given: Variables): unknown => valueFromASTUntyped(value, given);

const withType = (place: Place, fragment: FragmentDefinitionNode): Place => ({
  ...place,
  typeName: fragment.typeCondition.name.value,
});

const findFragment = ({ definitions }: DocumentNode, name: string): FragmentDefinitionNode | undefined =>
  definitions.find(
    (definition): definition is FragmentDefinitionNode =>
      definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === name,
  );

const defaultsOf = ({ variableDefinitions = [] }: OperationDefinitionNode): Variables =>
  Object.fromEntries(
    variableDefinitions.flatMap(({ variable, defaultValue }) =>
      defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
    ),
  );
