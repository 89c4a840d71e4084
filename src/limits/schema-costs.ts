import {
  Kind,
  valueFromASTUntyped,
  type ConstDirectiveNode,
  type DefinitionNode,
  type DocumentNode,
  type FieldDefinitionNode,
  type TypeNode,
} from 'graphql';

export interface FieldCost {
  readonly typeName: string;
  readonly isList: boolean;
  readonly weight: number;
  /** Null when `@listSize` says none. */
  readonly assumedSize: number | null;
  readonly slicingArguments: readonly string[];
  readonly sizedFields: readonly string[];
  /** Of arguments. */
  readonly defaults: Readonly<Record<string, unknown>>;
}

export interface SchemaCosts {
  readonly roots: Readonly<Record<string, string>>;
  /** By `Type.field`. */
  readonly fields: ReadonlyMap<string, FieldCost>;
  /** Weights of types that have fields of their own; the others weigh nothing. */
  readonly types: ReadonlyMap<string, number>;
}

/** `@cost` and `@listSize` of an SDL, under their own names. https://ibm.github.io/graphql-specs/cost-spec.html */
export function readSchemaCosts(typeDefs: DocumentNode): SchemaCosts {
  const roots: Record<string, string> = { query: 'Query', mutation: 'Mutation', subscription: 'Subscription' };
  const fields = new Map<string, FieldCost>();
  const types = new Map<string, number>();
  for (const definition of typeDefs.definitions) {
    if (definition.kind === Kind.SCHEMA_DEFINITION) {
      for (const { operation, type } of definition.operationTypes) roots[operation] = type.name.value;
    }
    if (!hasFields(definition)) continue;
    const typeName = definition.name.value;
    const weight = argumentsOf(definition.directives, 'cost')?.['weight'];
    if (weight !== undefined || !types.has(typeName)) types.set(typeName, weight === undefined ? 1 : Number(weight));
    for (const field of definition.fields ?? []) fields.set(`${typeName}.${field.name.value}`, readField(field));
  }
  for (const root of Object.values(roots)) types.set(root, 0);
  // What a gateway asks subgraphs for; no SDL writes it down. Its objects are counted where they were found.
  fields.set(`${roots['query'] ?? ''}._entities`, { ...NOTHING_SAID, typeName: '_Entity', isList: true });
  types.set('_Entity', 0);
  return { roots, fields, types };
}

const NOTHING_SAID: FieldCost = {
  typeName: '',
  isList: false,
  weight: 0,
  assumedSize: null,
  slicingArguments: [],
  sizedFields: [],
  defaults: {},
};

const hasFields = (definition: DefinitionNode) =>
  definition.kind === Kind.OBJECT_TYPE_DEFINITION ||
  definition.kind === Kind.OBJECT_TYPE_EXTENSION ||
  definition.kind === Kind.INTERFACE_TYPE_DEFINITION ||
  definition.kind === Kind.INTERFACE_TYPE_EXTENSION;

function readField({ type, directives, arguments: args = [] }: FieldDefinitionNode): FieldCost {
  const listSize = argumentsOf(directives, 'listSize') ?? {};
  return {
    ...unwrap(type),
    weight: Number(argumentsOf(directives, 'cost')?.['weight'] ?? 0),
    assumedSize: typeof listSize['assumedSize'] === 'number' ? listSize['assumedSize'] : null,
    slicingArguments: (listSize['slicingArguments'] ?? []) as string[],
    sizedFields: (listSize['sizedFields'] ?? []) as string[],
    defaults: Object.fromEntries(
      args.flatMap(({ name, defaultValue }) => (defaultValue ? [[name.value, valueFromASTUntyped(defaultValue)]] : [])),
    ),
  };
}

function unwrap(type: TypeNode): { typeName: string; isList: boolean } {
  if (type.kind === Kind.NAMED_TYPE) return { typeName: type.name.value, isList: false };
  const inner = unwrap(type.type);
  return type.kind === Kind.LIST_TYPE ? { ...inner, isList: true } : inner;
}

function argumentsOf(
  directives: readonly ConstDirectiveNode[] | undefined,
  name: string,
): Record<string, unknown> | undefined {
  const directive = directives?.find((candidate) => candidate.name.value === name);
  return (
    directive &&
    Object.fromEntries(
      directive.arguments?.map(({ name: { value: key }, value }) => [key, valueFromASTUntyped(value)]) ?? [],
    )
  );
}
