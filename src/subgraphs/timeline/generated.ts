// Generated from schema/timeline.graphql by scripts/generate-types.mjs. Do not edit.
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { UserRef, ContentRef } from '../shareable.js';
import type { FeedPage, FeedEdge } from '../../feed/feed.js';
import type { FanoutReport } from '../../feed/read-fanout.js';
import type { RequestContext } from '../context.js';
export type Maybe<T> = T | null;
export type InputMaybe<T> = T | null | undefined;
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /** An instant, RFC 3339 in UTC with milliseconds, e.g. 2023-07-12T01:32:02.000Z. */
  DateTime: { input: string; output: Date | string; }
};

export type Node = {
  id: Scalars['ID']['output'];
};

export type Query = {
  __typename?: 'Query';
  /**
   * The signed-in viewer's home timeline: what the people they follow published, newest first.
   * Order: publishTime descending, then contentId descending (numerically).
   *
   * first (default 20, at most 100) with `after` walks towards older posts: the "scroll up" of a phone.
   * first without `after` is the newest page: opening the page, or pull-to-refresh.
   * last with `before` walks towards newer posts: the posts right above a known cursor, to fill a gap.
   * Passing both first and last, or `before` with first, or `after` with last, is BAD_USER_INPUT.
   */
  timelineFeed: TimelineConnection;
  /**
   * How many posts newer than the cursor the viewer could load now, counted up to `limit` (at most 100).
   * For a "12 new posts" pill.
   */
  timelineNewer: TimelineNewer;
  /** How far the delivery of one content to inboxes has come. Only its author and admins may ask. */
  fanout: Maybe<Fanout>;
};


export type QueryTimelineFeedArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
};


export type QueryTimelineNewerArgs = {
  than: Scalars['String']['input'];
  limit?: InputMaybe<Scalars['Int']['input']>;
};


export type QueryFanoutArgs = {
  contentId: Scalars['ID']['input'];
};

export type Subscription = {
  __typename?: 'Subscription';
  /**
   * How many posts newer than `since` the viewer could load now, for an "N new posts" button: told at once, and again
   * whenever the number changes, at most once a second. It never counts a post that the viewer may not see, and goes down
   * when one is deleted or hidden. After loading the newest page, subscribe anew with its `startCursor`.
   *
   * since: the `startCursor` of the newest page that is shown. Left out, posts count from the newest one of this moment on.
   * The stream ends with UNAUTHENTICATED when the token expires.
   */
  timelineUpdated: TimelineUpdate;
};


export type SubscriptionTimelineUpdatedArgs = {
  since?: InputMaybe<Scalars['String']['input']>;
};

export type TimelineUpdate = {
  __typename?: 'TimelineUpdate';
  /** Counted up to 100. */
  newerCount: Scalars['Int']['output'];
  /** True when there are more than `newerCount`. */
  hasMore: Scalars['Boolean']['output'];
};

export type TimelineConnection = {
  __typename?: 'TimelineConnection';
  edges: Array<TimelineEdge>;
  /** The nodes of `edges`, for clients that need no cursor per item. */
  nodes: Array<Maybe<Content>>;
  pageInfo: PageInfo;
  /** Set only when `edges` is empty: why. */
  emptyReason: Maybe<TimelineEmptyReason>;
  /**
   * False only when some source could not be read (a store is down, a budget ran out), so that posts may be
   * missing from this page; a later request with the same cursor will show them.
   */
  isComplete: Scalars['Boolean']['output'];
};

export type TimelineEdge = {
  __typename?: 'TimelineEdge';
  /** Opaque. Encodes (publishTime, contentId), is bound to the viewer and signed; it does not expire. */
  cursor: Scalars['String']['output'];
  /** Null only when hydrating this one post failed; the error is in `errors` with this path. */
  node: Maybe<Content>;
};

export type PageInfo = {
  __typename?: 'PageInfo';
  hasNextPage: Scalars['Boolean']['output'];
  hasPreviousPage: Scalars['Boolean']['output'];
  startCursor: Maybe<Scalars['String']['output']>;
  endCursor: Maybe<Scalars['String']['output']>;
};

export type TimelineEmptyReason =
  /** The viewer follows nobody. */
  | 'NO_FOLLOWING'
  /** The people followed have published nothing visible to the viewer. */
  | 'NO_POSTS'
  /** Nothing older (after) or newer (before) than the given cursor. */
  | 'END_OF_FEED'
  /** The scroll limit of the product was reached; pageInfo.hasNextPage is false. */
  | 'DEPTH_LIMIT'
  /** first: 0 or last: 0 was asked for. */
  | 'NOTHING_REQUESTED'
  /** Sources are unavailable; isComplete is false. */
  | 'UNAVAILABLE';

export type TimelineNewer = {
  __typename?: 'TimelineNewer';
  count: Scalars['Int']['output'];
  /** True when there are more than `count`. */
  hasMore: Scalars['Boolean']['output'];
};

export type FanoutState =
  /** Accepted, not yet cut into tasks. */
  | 'PENDING'
  | 'RUNNING'
  | 'DONE'
  /** Some task has used up its attempts; nothing is lost, it can be retried from the dashboard. */
  | 'FAILED';

/** Whom a content is delivered to at publish time. */
export type FanoutMode =
  /** Every follower (ordinary author). */
  | 'ALL_FOLLOWERS'
  /** Recently active followers only; the others pull it when they read (big account). */
  | 'ACTIVE_FOLLOWERS';

export type Fanout = {
  __typename?: 'Fanout';
  contentId: Scalars['ID']['output'];
  state: FanoutState;
  mode: Maybe<FanoutMode>;
  /** Followers chosen so far; final once `isPlanned`. */
  targetCount: Scalars['Int']['output'];
  isPlanned: Scalars['Boolean']['output'];
  deliveredCount: Scalars['Int']['output'];
  taskCount: Scalars['Int']['output'];
  finishedTaskCount: Scalars['Int']['output'];
  startedAt: Maybe<Scalars['DateTime']['output']>;
  finishedAt: Maybe<Scalars['DateTime']['output']>;
};

export type Content = Node & {
  __typename?: 'Content';
  /** Globally unique across types (Relay store key). */
  id: Scalars['ID']['output'];
  /** Unsigned 64-bit integer in decimal. */
  contentId: Scalars['ID']['output'];
  text: Scalars['String']['output'];
  media: Array<Media>;
  publishTime: Scalars['DateTime']['output'];
  visibility: Visibility;
  /** Null when the user service could not be reached. */
  author: Maybe<User>;
  /** Null when the counter service could not be reached. */
  counters: Maybe<ContentCounters>;
  /** Null when unknown. */
  viewerHasLiked: Maybe<Scalars['Boolean']['output']>;
};

export type Visibility =
  | 'PUBLIC'
  /** Only people who follow the author now. */
  | 'FOLLOWERS'
  /** Only the author. */
  | 'PRIVATE';

export type Media = {
  __typename?: 'Media';
  url: Scalars['String']['output'];
  kind: MediaKind;
  width: Maybe<Scalars['Int']['output']>;
  height: Maybe<Scalars['Int']['output']>;
  altText: Maybe<Scalars['String']['output']>;
};

export type MediaKind =
  | 'IMAGE'
  | 'VIDEO'
  | 'LINK';

export type ContentCounters = {
  __typename?: 'ContentCounters';
  likes: Scalars['Int']['output'];
  comments: Scalars['Int']['output'];
  reposts: Scalars['Int']['output'];
  favorites: Scalars['Int']['output'];
};

export type User = Node & {
  __typename?: 'User';
  id: Scalars['ID']['output'];
  userId: Scalars['ID']['output'];
  handle: Scalars['String']['output'];
  displayName: Scalars['String']['output'];
  avatarUrl: Maybe<Scalars['String']['output']>;
};



export type ResolverTypeWrapper<T> = Promise<T> | T;

export type ReferenceResolver<TResult, TReference, TContext> = (
      reference: TReference,
      context: TContext,
      info: GraphQLResolveInfo
    ) => Promise<TResult>;

      type ScalarCheck<T, S> = S extends true ? T : NullableCheck<T, S>;
      type NullableCheck<T, S> = Maybe<T> extends T ? Maybe<ListCheck<NonNullable<T>, S>> : ListCheck<T, S>;
      type ListCheck<T, S> = T extends (infer U)[] ? NullableCheck<U, S>[] : GraphQLRecursivePick<T, S>;
      export type GraphQLRecursivePick<T, S> = { [K in keyof T & keyof S]: ScalarCheck<T[K], S[K]> };
    
export type Resolver<TResult, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = ResolverFn<TResult, TParent, TContext, TArgs>;

export type ResolverFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => Promise<TResult> | TResult;

export type SubscriptionSubscribeFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => AsyncIterable<TResult> | Promise<AsyncIterable<TResult>>;

export type SubscriptionResolveFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;

export interface SubscriptionSubscriberObject<TResult, TKey extends string, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<{ [key in TKey]: TResult }, TParent, TContext, TArgs>;
  resolve?: SubscriptionResolveFn<TResult, { [key in TKey]: TResult }, TContext, TArgs>;
}

export interface SubscriptionResolverObject<TResult, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<any, TParent, TContext, TArgs>;
  resolve: SubscriptionResolveFn<TResult, any, TContext, TArgs>;
}

export type SubscriptionObject<TResult, TKey extends string, TParent, TContext, TArgs> =
  | SubscriptionSubscriberObject<TResult, TKey, TParent, TContext, TArgs>
  | SubscriptionResolverObject<TResult, TParent, TContext, TArgs>;

export type SubscriptionResolver<TResult, TKey extends string, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> =
  | ((...args: any[]) => SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>)
  | SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>;

export type TypeResolveFn<TTypes, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (
  parent: TParent,
  context: TContext,
  info: GraphQLResolveInfo
) => Maybe<TTypes> | Promise<Maybe<TTypes>>;

export type IsTypeOfResolverFn<T = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (obj: T, context: TContext, info: GraphQLResolveInfo) => boolean | Promise<boolean>;

export type NextResolverFn<T> = () => Promise<T>;

export type DirectiveResolverFn<TResult = Record<PropertyKey, never>, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = (
  next: NextResolverFn<TResult>,
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;

/** Mapping of federation types */
export type FederationTypes = {
  Content: Content;
  User: User;
};

/** Mapping of federation reference types */
export type FederationReferenceTypes = {
  Content:
    ( { __typename: 'Content' }
    & ( GraphQLRecursivePick<FederationTypes['Content'], {"contentId":true}>
        | GraphQLRecursivePick<FederationTypes['Content'], {"id":true}> ) );
  User:
    ( { __typename: 'User' }
    & ( GraphQLRecursivePick<FederationTypes['User'], {"userId":true}>
        | GraphQLRecursivePick<FederationTypes['User'], {"id":true}> ) );
};


/** Mapping of interface types */
export type ResolversInterfaceTypes<_RefType extends Record<string, unknown>> = {
  Node:
    | ( ContentRef )
    | ( UserRef )
  ;
};

/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  DateTime: ResolverTypeWrapper<Scalars['DateTime']['output']>;
  Node: ResolverTypeWrapper<ResolversInterfaceTypes<ResolversTypes>['Node']>;
  ID: ResolverTypeWrapper<Scalars['ID']['output']>;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Int: ResolverTypeWrapper<Scalars['Int']['output']>;
  String: ResolverTypeWrapper<Scalars['String']['output']>;
  Subscription: ResolverTypeWrapper<Record<PropertyKey, never>>;
  TimelineUpdate: ResolverTypeWrapper<TimelineUpdate>;
  Boolean: ResolverTypeWrapper<Scalars['Boolean']['output']>;
  TimelineConnection: ResolverTypeWrapper<FeedPage>;
  TimelineEdge: ResolverTypeWrapper<FeedEdge>;
  PageInfo: ResolverTypeWrapper<FeedPage>;
  TimelineEmptyReason: TimelineEmptyReason;
  TimelineNewer: ResolverTypeWrapper<TimelineNewer>;
  FanoutState: FanoutState;
  FanoutMode: FanoutMode;
  Fanout: ResolverTypeWrapper<FanoutReport>;
  Content: ResolverTypeWrapper<ContentRef>;
  Visibility: Visibility;
  Media: ResolverTypeWrapper<Media>;
  MediaKind: MediaKind;
  ContentCounters: ResolverTypeWrapper<ContentCounters>;
  User: ResolverTypeWrapper<UserRef>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  DateTime: Scalars['DateTime']['output'];
  Node: ResolversInterfaceTypes<ResolversParentTypes>['Node'];
  ID: Scalars['ID']['output'];
  Query: Record<PropertyKey, never>;
  Int: Scalars['Int']['output'];
  String: Scalars['String']['output'];
  Subscription: Record<PropertyKey, never>;
  TimelineUpdate: TimelineUpdate;
  Boolean: Scalars['Boolean']['output'];
  TimelineConnection: FeedPage;
  TimelineEdge: FeedEdge;
  PageInfo: FeedPage;
  TimelineNewer: TimelineNewer;
  Fanout: FanoutReport;
  Content: ContentRef;
  Media: Media;
  ContentCounters: ContentCounters;
  User: UserRef;
};

export interface DateTimeScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['DateTime'], any> {
  name: 'DateTime';
}

export type NodeResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['Node'] = ResolversParentTypes['Node']> = {
  __resolveType: TypeResolveFn<'Content' | 'User', ParentType, ContextType>;
};

export type QueryResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  timelineFeed: Resolver<ResolversTypes['TimelineConnection'], ParentType, ContextType, Partial<QueryTimelineFeedArgs>>;
  timelineNewer: Resolver<ResolversTypes['TimelineNewer'], ParentType, ContextType, RequireFields<QueryTimelineNewerArgs, 'than' | 'limit'>>;
  fanout: Resolver<Maybe<ResolversTypes['Fanout']>, ParentType, ContextType, RequireFields<QueryFanoutArgs, 'contentId'>>;
};

export type SubscriptionResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['Subscription'] = ResolversParentTypes['Subscription']> = {
  timelineUpdated?: SubscriptionResolver<ResolversTypes['TimelineUpdate'], "timelineUpdated", ParentType, ContextType, Partial<SubscriptionTimelineUpdatedArgs>>;
};

export type TimelineUpdateResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['TimelineUpdate'] = ResolversParentTypes['TimelineUpdate']> = {
  newerCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  hasMore?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type TimelineConnectionResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['TimelineConnection'] = ResolversParentTypes['TimelineConnection']> = {
  edges?: Resolver<Array<ResolversTypes['TimelineEdge']>, ParentType, ContextType>;
  nodes?: Resolver<Array<Maybe<ResolversTypes['Content']>>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
  emptyReason?: Resolver<Maybe<ResolversTypes['TimelineEmptyReason']>, ParentType, ContextType>;
  isComplete?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type TimelineEdgeResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['TimelineEdge'] = ResolversParentTypes['TimelineEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<Maybe<ResolversTypes['Content']>, ParentType, ContextType>;
};

export type PageInfoResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['PageInfo'] = ResolversParentTypes['PageInfo']> = {
  hasNextPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  hasPreviousPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  startCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  endCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type TimelineNewerResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['TimelineNewer'] = ResolversParentTypes['TimelineNewer']> = {
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  hasMore?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type FanoutResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['Fanout'] = ResolversParentTypes['Fanout']> = {
  contentId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  state?: Resolver<ResolversTypes['FanoutState'], ParentType, ContextType>;
  mode?: Resolver<Maybe<ResolversTypes['FanoutMode']>, ParentType, ContextType>;
  targetCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  isPlanned?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  deliveredCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  taskCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  finishedTaskCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  startedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  finishedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
};

export type ContentResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['Content'] = ResolversParentTypes['Content'], FederationReferenceType extends FederationReferenceTypes['Content'] = FederationReferenceTypes['Content']> = {
  __resolveReference: ReferenceResolver<Maybe<ResolversTypes['Content']>, FederationReferenceType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  contentId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  media?: Resolver<Array<ResolversTypes['Media']>, ParentType, ContextType>;
  publishTime?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  visibility?: Resolver<ResolversTypes['Visibility'], ParentType, ContextType>;
  author?: Resolver<Maybe<ResolversTypes['User']>, ParentType, ContextType>;
  counters?: Resolver<Maybe<ResolversTypes['ContentCounters']>, ParentType, ContextType>;
  viewerHasLiked?: Resolver<Maybe<ResolversTypes['Boolean']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type MediaResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['Media'] = ResolversParentTypes['Media']> = {
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  kind?: Resolver<ResolversTypes['MediaKind'], ParentType, ContextType>;
  width?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  height?: Resolver<Maybe<ResolversTypes['Int']>, ParentType, ContextType>;
  altText?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type ContentCountersResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['ContentCounters'] = ResolversParentTypes['ContentCounters']> = {
  likes?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  comments?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  reposts?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  favorites?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type UserResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['User'] = ResolversParentTypes['User'], FederationReferenceType extends FederationReferenceTypes['User'] = FederationReferenceTypes['User']> = {
  __resolveReference: ReferenceResolver<Maybe<ResolversTypes['User']>, FederationReferenceType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  userId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  handle?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  displayName?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  avatarUrl?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type Resolvers<ContextType = RequestContext> = {
  DateTime?: GraphQLScalarType;
  Node?: NodeResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  Subscription?: SubscriptionResolvers<ContextType>;
  TimelineUpdate?: TimelineUpdateResolvers<ContextType>;
  TimelineConnection?: TimelineConnectionResolvers<ContextType>;
  TimelineEdge?: TimelineEdgeResolvers<ContextType>;
  PageInfo?: PageInfoResolvers<ContextType>;
  TimelineNewer?: TimelineNewerResolvers<ContextType>;
  Fanout?: FanoutResolvers<ContextType>;
  Content?: ContentResolvers<ContextType>;
  Media?: MediaResolvers<ContextType>;
  ContentCounters?: ContentCountersResolvers<ContextType>;
  User?: UserResolvers<ContextType>;
};


