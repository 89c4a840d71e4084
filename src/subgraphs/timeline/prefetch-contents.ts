import {
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  getDirectiveValues,
  Kind,
  type FieldNode,
  type GraphQLResolveInfo,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import type { RequestContext } from '../context.js';

/** Fields of a content that its ref answers by itself. */
const KEY_FIELDS: ReadonlySet<string> = new Set(['__typename', 'id', 'contentId']);

/**
 * Looks up all that an operation selects of these contents, so that their fields resolve at once. Each source is asked as
 * the fields would ask it, and not at all for what is not selected; a failure stays with the fields that need it.
 * @param path from the field being resolved to the contents
 */
export async function prefetchContents(
  contentIds: readonly bigint[],
  { hydration, viewer }: RequestContext,
  info: GraphQLResolveInfo,
  path: readonly string[] = [],
): Promise<void> {
  const content = fieldsOf(
    path.reduce((nodes, name) => fieldsOf(nodes, info).get(name) ?? [], info.fieldNodes),
    info,
  );
  if ([...content.keys()].every((name) => KEY_FIELDS.has(name))) return;
  const author = fieldsOf(content.get('author') ?? [], info);
  const needsDetails = ['text', 'media', 'publishTime', 'visibility', 'author'].some((name) => content.has(name));
  const needsUsers = ['handle', 'displayName', 'avatarUrl'].some((name) => author.has(name));
  const prefetchDetails = async (): Promise<void> => {
    await hydration.contents.prefetch(contentIds);
    const found = contentIds.map((id) => hydration.contents.peek(id));
    const authorIds = found.flatMap((it) =>
      it && !(it instanceof Error) && it.authorId !== null ? [it.authorId] : [],
    );
    if (needsUsers && authorIds.length > 0) await hydration.users.prefetch([...new Set(authorIds)]);
  };
  await Promise.all([
    needsDetails && prefetchDetails(),
    content.has('counters') && hydration.counters.prefetch(contentIds),
    viewer && content.has('viewerHasLiked') && hydration.viewerLikes.prefetch(contentIds),
  ]);
}

/** The fields below these, by name, fragments included. A type condition may let in more than is answered. */
function fieldsOf(nodes: readonly FieldNode[], info: GraphQLResolveInfo): Map<string, FieldNode[]> {
  const fields = new Map<string, FieldNode[]>();
  for (const { selectionSet } of nodes) if (selectionSet) collect(selectionSet, info, fields);
  return fields;
}

function collect({ selections }: SelectionSetNode, info: GraphQLResolveInfo, fields: Map<string, FieldNode[]>): void {
  for (const selection of selections) {
    if (!isIncluded(selection, info)) continue;
    if (selection.kind === Kind.FIELD) {
      const { value: name } = selection.name;
      fields.set(name, [...(fields.get(name) ?? []), selection]);
      continue;
    }
    const spread = selection.kind === Kind.FRAGMENT_SPREAD ? info.fragments[selection.name.value] : selection;
    if (spread) collect(spread.selectionSet, info, fields);
  }
}

function isIncluded(selection: SelectionNode, { variableValues }: GraphQLResolveInfo): boolean {
  if (!selection.directives?.length) return true;
  if (getDirectiveValues(GraphQLSkipDirective, selection, variableValues)?.['if'] === true) return false;
  return getDirectiveValues(GraphQLIncludeDirective, selection, variableValues)?.['if'] !== false;
}
