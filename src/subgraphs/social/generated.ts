// Generated from schema/social.graphql by scripts/generate-types.mjs. Do not edit.
import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { UserRef, ContentRef } from '../shareable.js';
import type { StoredComment } from '../../social/read-social.js';
import type { RequestContext } from '../context.js';
export type Maybe<T> = T | null;
export type InputMaybe<T> = T | null | undefined;
export type Omit<T, K extends keyof T> = Pick<T, Exclude<keyof T, K>>;
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  DateTime: { input: string; output: Date | string; }
};

export type Node = {
  id: Scalars['ID']['output'];
};

export type Query = {
  __typename?: 'Query';
  /** The signed-in user; null when the request carries no token. */
  viewer: Maybe<User>;
  node: Maybe<Node>;
  nodes: Array<Maybe<Node>>;
  user: Maybe<User>;
  content: Maybe<Content>;
};


export type QueryNodeArgs = {
  id: Scalars['ID']['input'];
};


export type QueryNodesArgs = {
  ids: Array<Scalars['ID']['input']>;
};


export type QueryUserArgs = {
  userId?: InputMaybe<Scalars['ID']['input']>;
  handle?: InputMaybe<Scalars['String']['input']>;
};


export type QueryContentArgs = {
  contentId: Scalars['ID']['input'];
};

export type Mutation = {
  __typename?: 'Mutation';
  /** Publishes as the viewer. The same idempotencyKey by the same author gives back the same content. */
  publishContent: PublishContentPayload;
  /** Idempotent. Only the author. */
  deleteContent: DeleteContentPayload;
  /** Only the author. */
  setVisibility: SetVisibilityPayload;
  /** Sets the wanted state; safe to repeat. */
  setFollow: SetFollowPayload;
  /** Sets the wanted state; blocking also ends follows in both directions. */
  setBlock: SetBlockPayload;
  /**
   * Sets the wanted state of the viewer's like or favorite. `version` orders a user's own actions on one
   * content: a request whose version is lower than the stored one changes nothing and returns the current state.
   */
  setReaction: SetReactionPayload;
  addComment: AddCommentPayload;
  deleteComment: DeleteCommentPayload;
  /** Changes the viewer's own profile. Fields that are left out stay as they are; safe to repeat. */
  updateProfile: UpdateProfilePayload;
  /**
   * Deletes an account for good: at once for everybody to see, and in the background down to its last post, follow and like.
   * Its id is never given out again, and its tokens are refused. Only its owner, or an admin. Safe to repeat.
   */
  deleteAccount: DeleteAccountPayload;
};


export type MutationPublishContentArgs = {
  input: PublishContentInput;
};


export type MutationDeleteContentArgs = {
  input: DeleteContentInput;
};


export type MutationSetVisibilityArgs = {
  input: SetVisibilityInput;
};


export type MutationSetFollowArgs = {
  input: SetFollowInput;
};


export type MutationSetBlockArgs = {
  input: SetBlockInput;
};


export type MutationSetReactionArgs = {
  input: SetReactionInput;
};


export type MutationAddCommentArgs = {
  input: AddCommentInput;
};


export type MutationDeleteCommentArgs = {
  input: DeleteCommentInput;
};


export type MutationUpdateProfileArgs = {
  input: UpdateProfileInput;
};


export type MutationDeleteAccountArgs = {
  input: DeleteAccountInput;
};

export type PublishContentInput = {
  /** 1 to 5,000 characters after trimming, unless media or repostOf is given. */
  text: Scalars['String']['input'];
  media?: InputMaybe<Array<MediaInput>>;
  visibility?: InputMaybe<Visibility>;
  repostOfContentId?: InputMaybe<Scalars['ID']['input']>;
  idempotencyKey?: InputMaybe<Scalars['String']['input']>;
};

export type MediaInput = {
  url: Scalars['String']['input'];
  kind: MediaKind;
  width?: InputMaybe<Scalars['Int']['input']>;
  height?: InputMaybe<Scalars['Int']['input']>;
  altText?: InputMaybe<Scalars['String']['input']>;
};

export type PublishContentPayload = {
  __typename?: 'PublishContentPayload';
  content: Content;
};

export type DeleteContentInput = {
  contentId: Scalars['ID']['input'];
};

export type DeleteContentPayload = {
  __typename?: 'DeleteContentPayload';
  contentId: Scalars['ID']['output'];
};

export type SetVisibilityInput = {
  contentId: Scalars['ID']['input'];
  visibility: Visibility;
};

export type SetVisibilityPayload = {
  __typename?: 'SetVisibilityPayload';
  content: Content;
};

export type SetFollowInput = {
  userId: Scalars['ID']['input'];
  following: Scalars['Boolean']['input'];
};

export type SetFollowPayload = {
  __typename?: 'SetFollowPayload';
  user: User;
};

export type SetBlockInput = {
  userId: Scalars['ID']['input'];
  blocked: Scalars['Boolean']['input'];
};

export type SetBlockPayload = {
  __typename?: 'SetBlockPayload';
  user: User;
};

export type ReactionKind =
  | 'LIKE'
  | 'FAVORITE';

export type SetReactionInput = {
  contentId: Scalars['ID']['input'];
  kind: ReactionKind;
  active: Scalars['Boolean']['input'];
  version?: InputMaybe<Scalars['Int']['input']>;
};

export type SetReactionPayload = {
  __typename?: 'SetReactionPayload';
  content: Content;
  active: Scalars['Boolean']['output'];
  version: Scalars['Int']['output'];
};

export type AddCommentInput = {
  contentId: Scalars['ID']['input'];
  text: Scalars['String']['input'];
  idempotencyKey?: InputMaybe<Scalars['String']['input']>;
};

export type AddCommentPayload = {
  __typename?: 'AddCommentPayload';
  comment: Comment;
};

export type DeleteCommentInput = {
  commentId: Scalars['ID']['input'];
};

export type DeleteCommentPayload = {
  __typename?: 'DeleteCommentPayload';
  commentId: Scalars['ID']['output'];
};

export type UpdateProfileInput = {
  /** 1 to 50 characters on one line, after trimming. */
  displayName?: InputMaybe<Scalars['String']['input']>;
  /** An http or https URL; null takes the picture away. */
  avatarUrl?: InputMaybe<Scalars['String']['input']>;
};

export type UpdateProfilePayload = {
  __typename?: 'UpdateProfilePayload';
  user: User;
};

export type DeleteAccountInput = {
  userId: Scalars['ID']['input'];
};

export type DeleteAccountPayload = {
  __typename?: 'DeleteAccountPayload';
  userId: Scalars['ID']['output'];
};

export type PageInfo = {
  __typename?: 'PageInfo';
  hasNextPage: Scalars['Boolean']['output'];
  hasPreviousPage: Scalars['Boolean']['output'];
  startCursor: Maybe<Scalars['String']['output']>;
  endCursor: Maybe<Scalars['String']['output']>;
};

export type User = Node & {
  __typename?: 'User';
  id: Scalars['ID']['output'];
  userId: Scalars['ID']['output'];
  handle: Scalars['String']['output'];
  displayName: Scalars['String']['output'];
  avatarUrl: Maybe<Scalars['String']['output']>;
  followerCount: Scalars['Int']['output'];
  followingCount: Scalars['Int']['output'];
  viewerIsFollowing: Maybe<Scalars['Boolean']['output']>;
  /** The author's own page (outbox), newest first. */
  contents: ContentConnection;
  followers: UserConnection;
  following: UserConnection;
};


export type UserContentsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
};


export type UserFollowersArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
};


export type UserFollowingArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
};

export type Content = Node & {
  __typename?: 'Content';
  id: Scalars['ID']['output'];
  contentId: Scalars['ID']['output'];
  text: Scalars['String']['output'];
  media: Array<Media>;
  publishTime: Scalars['DateTime']['output'];
  visibility: Visibility;
  author: Maybe<User>;
  counters: Maybe<ContentCounters>;
  viewerHasLiked: Maybe<Scalars['Boolean']['output']>;
  repostOf: Maybe<Content>;
  /** Newest first. */
  comments: CommentConnection;
  /** Most recent likers first. */
  likers: UserConnection;
};


export type ContentCommentsArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
};


export type ContentLikersArgs = {
  first?: InputMaybe<Scalars['Int']['input']>;
  after?: InputMaybe<Scalars['String']['input']>;
};

export type Comment = Node & {
  __typename?: 'Comment';
  id: Scalars['ID']['output'];
  commentId: Scalars['ID']['output'];
  text: Scalars['String']['output'];
  createdAt: Scalars['DateTime']['output'];
  author: Maybe<User>;
};

export type Visibility =
  | 'PUBLIC'
  | 'FOLLOWERS'
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

export type ContentConnection = {
  __typename?: 'ContentConnection';
  edges: Array<ContentEdge>;
  pageInfo: PageInfo;
};

export type ContentEdge = {
  __typename?: 'ContentEdge';
  cursor: Scalars['String']['output'];
  node: Maybe<Content>;
};

export type UserConnection = {
  __typename?: 'UserConnection';
  edges: Array<UserEdge>;
  pageInfo: PageInfo;
};

export type UserEdge = {
  __typename?: 'UserEdge';
  cursor: Scalars['String']['output'];
  node: Maybe<User>;
};

export type CommentConnection = {
  __typename?: 'CommentConnection';
  edges: Array<CommentEdge>;
  pageInfo: PageInfo;
};

export type CommentEdge = {
  __typename?: 'CommentEdge';
  cursor: Scalars['String']['output'];
  node: Maybe<Comment>;
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
  User: User;
  Content: Content;
  Comment: Comment;
};

/** Mapping of federation reference types */
export type FederationReferenceTypes = {
  User:
    ( { __typename: 'User' }
    & ( GraphQLRecursivePick<FederationTypes['User'], {"userId":true}>
        | GraphQLRecursivePick<FederationTypes['User'], {"id":true}> ) );
  Content:
    ( { __typename: 'Content' }
    & ( GraphQLRecursivePick<FederationTypes['Content'], {"contentId":true}>
        | GraphQLRecursivePick<FederationTypes['Content'], {"id":true}> ) );
  Comment:
    ( { __typename: 'Comment' }
    & GraphQLRecursivePick<FederationTypes['Comment'], {"id":true}> );
};


/** Mapping of interface types */
export type ResolversInterfaceTypes<_RefType extends Record<string, unknown>> = {
  Node:
    | ( UserRef )
    | ( ContentRef )
    | ( StoredComment )
  ;
};

/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  DateTime: ResolverTypeWrapper<Scalars['DateTime']['output']>;
  Node: ResolverTypeWrapper<ResolversInterfaceTypes<ResolversTypes>['Node']>;
  ID: ResolverTypeWrapper<Scalars['ID']['output']>;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  String: ResolverTypeWrapper<Scalars['String']['output']>;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
  PublishContentInput: PublishContentInput;
  MediaInput: MediaInput;
  Int: ResolverTypeWrapper<Scalars['Int']['output']>;
  PublishContentPayload: ResolverTypeWrapper<Omit<PublishContentPayload, 'content'> & { content: ResolversTypes['Content'] }>;
  DeleteContentInput: DeleteContentInput;
  DeleteContentPayload: ResolverTypeWrapper<DeleteContentPayload>;
  SetVisibilityInput: SetVisibilityInput;
  SetVisibilityPayload: ResolverTypeWrapper<Omit<SetVisibilityPayload, 'content'> & { content: ResolversTypes['Content'] }>;
  SetFollowInput: SetFollowInput;
  Boolean: ResolverTypeWrapper<Scalars['Boolean']['output']>;
  SetFollowPayload: ResolverTypeWrapper<Omit<SetFollowPayload, 'user'> & { user: ResolversTypes['User'] }>;
  SetBlockInput: SetBlockInput;
  SetBlockPayload: ResolverTypeWrapper<Omit<SetBlockPayload, 'user'> & { user: ResolversTypes['User'] }>;
  ReactionKind: ReactionKind;
  SetReactionInput: SetReactionInput;
  SetReactionPayload: ResolverTypeWrapper<Omit<SetReactionPayload, 'content'> & { content: ResolversTypes['Content'] }>;
  AddCommentInput: AddCommentInput;
  AddCommentPayload: ResolverTypeWrapper<Omit<AddCommentPayload, 'comment'> & { comment: ResolversTypes['Comment'] }>;
  DeleteCommentInput: DeleteCommentInput;
  DeleteCommentPayload: ResolverTypeWrapper<DeleteCommentPayload>;
  UpdateProfileInput: UpdateProfileInput;
  UpdateProfilePayload: ResolverTypeWrapper<Omit<UpdateProfilePayload, 'user'> & { user: ResolversTypes['User'] }>;
  DeleteAccountInput: DeleteAccountInput;
  DeleteAccountPayload: ResolverTypeWrapper<DeleteAccountPayload>;
  PageInfo: ResolverTypeWrapper<PageInfo>;
  User: ResolverTypeWrapper<UserRef>;
  Content: ResolverTypeWrapper<ContentRef>;
  Comment: ResolverTypeWrapper<StoredComment>;
  Visibility: Visibility;
  Media: ResolverTypeWrapper<Media>;
  MediaKind: MediaKind;
  ContentCounters: ResolverTypeWrapper<ContentCounters>;
  ContentConnection: ResolverTypeWrapper<Omit<ContentConnection, 'edges'> & { edges: Array<ResolversTypes['ContentEdge']> }>;
  ContentEdge: ResolverTypeWrapper<Omit<ContentEdge, 'node'> & { node?: Maybe<ResolversTypes['Content']> }>;
  UserConnection: ResolverTypeWrapper<Omit<UserConnection, 'edges'> & { edges: Array<ResolversTypes['UserEdge']> }>;
  UserEdge: ResolverTypeWrapper<Omit<UserEdge, 'node'> & { node?: Maybe<ResolversTypes['User']> }>;
  CommentConnection: ResolverTypeWrapper<Omit<CommentConnection, 'edges'> & { edges: Array<ResolversTypes['CommentEdge']> }>;
  CommentEdge: ResolverTypeWrapper<Omit<CommentEdge, 'node'> & { node?: Maybe<ResolversTypes['Comment']> }>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  DateTime: Scalars['DateTime']['output'];
  Node: ResolversInterfaceTypes<ResolversParentTypes>['Node'];
  ID: Scalars['ID']['output'];
  Query: Record<PropertyKey, never>;
  String: Scalars['String']['output'];
  Mutation: Record<PropertyKey, never>;
  PublishContentInput: PublishContentInput;
  MediaInput: MediaInput;
  Int: Scalars['Int']['output'];
  PublishContentPayload: Omit<PublishContentPayload, 'content'> & { content: ResolversParentTypes['Content'] };
  DeleteContentInput: DeleteContentInput;
  DeleteContentPayload: DeleteContentPayload;
  SetVisibilityInput: SetVisibilityInput;
  SetVisibilityPayload: Omit<SetVisibilityPayload, 'content'> & { content: ResolversParentTypes['Content'] };
  SetFollowInput: SetFollowInput;
  Boolean: Scalars['Boolean']['output'];
  SetFollowPayload: Omit<SetFollowPayload, 'user'> & { user: ResolversParentTypes['User'] };
  SetBlockInput: SetBlockInput;
  SetBlockPayload: Omit<SetBlockPayload, 'user'> & { user: ResolversParentTypes['User'] };
  SetReactionInput: SetReactionInput;
  SetReactionPayload: Omit<SetReactionPayload, 'content'> & { content: ResolversParentTypes['Content'] };
  AddCommentInput: AddCommentInput;
  AddCommentPayload: Omit<AddCommentPayload, 'comment'> & { comment: ResolversParentTypes['Comment'] };
  DeleteCommentInput: DeleteCommentInput;
  DeleteCommentPayload: DeleteCommentPayload;
  UpdateProfileInput: UpdateProfileInput;
  UpdateProfilePayload: Omit<UpdateProfilePayload, 'user'> & { user: ResolversParentTypes['User'] };
  DeleteAccountInput: DeleteAccountInput;
  DeleteAccountPayload: DeleteAccountPayload;
  PageInfo: PageInfo;
  User: UserRef;
  Content: ContentRef;
  Comment: StoredComment;
  Media: Media;
  ContentCounters: ContentCounters;
  ContentConnection: Omit<ContentConnection, 'edges'> & { edges: Array<ResolversParentTypes['ContentEdge']> };
  ContentEdge: Omit<ContentEdge, 'node'> & { node?: Maybe<ResolversParentTypes['Content']> };
  UserConnection: Omit<UserConnection, 'edges'> & { edges: Array<ResolversParentTypes['UserEdge']> };
  UserEdge: Omit<UserEdge, 'node'> & { node?: Maybe<ResolversParentTypes['User']> };
  CommentConnection: Omit<CommentConnection, 'edges'> & { edges: Array<ResolversParentTypes['CommentEdge']> };
  CommentEdge: Omit<CommentEdge, 'node'> & { node?: Maybe<ResolversParentTypes['Comment']> };
};

export interface DateTimeScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['DateTime'], any> {
  name: 'DateTime';
}

export type NodeResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['Node'] = ResolversParentTypes['Node']> = {
  __resolveType: TypeResolveFn<'User' | 'Content' | 'Comment', ParentType, ContextType>;
};

export type QueryResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  viewer: Resolver<Maybe<ResolversTypes['User']>, ParentType, ContextType>;
  node: Resolver<Maybe<ResolversTypes['Node']>, ParentType, ContextType, RequireFields<QueryNodeArgs, 'id'>>;
  nodes: Resolver<Array<Maybe<ResolversTypes['Node']>>, ParentType, ContextType, RequireFields<QueryNodesArgs, 'ids'>>;
  user: Resolver<Maybe<ResolversTypes['User']>, ParentType, ContextType, Partial<QueryUserArgs>>;
  content: Resolver<Maybe<ResolversTypes['Content']>, ParentType, ContextType, RequireFields<QueryContentArgs, 'contentId'>>;
};

export type MutationResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  publishContent: Resolver<ResolversTypes['PublishContentPayload'], ParentType, ContextType, RequireFields<MutationPublishContentArgs, 'input'>>;
  deleteContent: Resolver<ResolversTypes['DeleteContentPayload'], ParentType, ContextType, RequireFields<MutationDeleteContentArgs, 'input'>>;
  setVisibility: Resolver<ResolversTypes['SetVisibilityPayload'], ParentType, ContextType, RequireFields<MutationSetVisibilityArgs, 'input'>>;
  setFollow: Resolver<ResolversTypes['SetFollowPayload'], ParentType, ContextType, RequireFields<MutationSetFollowArgs, 'input'>>;
  setBlock: Resolver<ResolversTypes['SetBlockPayload'], ParentType, ContextType, RequireFields<MutationSetBlockArgs, 'input'>>;
  setReaction: Resolver<ResolversTypes['SetReactionPayload'], ParentType, ContextType, RequireFields<MutationSetReactionArgs, 'input'>>;
  addComment: Resolver<ResolversTypes['AddCommentPayload'], ParentType, ContextType, RequireFields<MutationAddCommentArgs, 'input'>>;
  deleteComment: Resolver<ResolversTypes['DeleteCommentPayload'], ParentType, ContextType, RequireFields<MutationDeleteCommentArgs, 'input'>>;
  updateProfile: Resolver<ResolversTypes['UpdateProfilePayload'], ParentType, ContextType, RequireFields<MutationUpdateProfileArgs, 'input'>>;
  deleteAccount: Resolver<ResolversTypes['DeleteAccountPayload'], ParentType, ContextType, RequireFields<MutationDeleteAccountArgs, 'input'>>;
};

export type PublishContentPayloadResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['PublishContentPayload'] = ResolversParentTypes['PublishContentPayload']> = {
  content?: Resolver<ResolversTypes['Content'], ParentType, ContextType>;
};

export type DeleteContentPayloadResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['DeleteContentPayload'] = ResolversParentTypes['DeleteContentPayload']> = {
  contentId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type SetVisibilityPayloadResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['SetVisibilityPayload'] = ResolversParentTypes['SetVisibilityPayload']> = {
  content?: Resolver<ResolversTypes['Content'], ParentType, ContextType>;
};

export type SetFollowPayloadResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['SetFollowPayload'] = ResolversParentTypes['SetFollowPayload']> = {
  user?: Resolver<ResolversTypes['User'], ParentType, ContextType>;
};

export type SetBlockPayloadResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['SetBlockPayload'] = ResolversParentTypes['SetBlockPayload']> = {
  user?: Resolver<ResolversTypes['User'], ParentType, ContextType>;
};

export type SetReactionPayloadResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['SetReactionPayload'] = ResolversParentTypes['SetReactionPayload']> = {
  content?: Resolver<ResolversTypes['Content'], ParentType, ContextType>;
  active?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  version?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
};

export type AddCommentPayloadResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['AddCommentPayload'] = ResolversParentTypes['AddCommentPayload']> = {
  comment?: Resolver<ResolversTypes['Comment'], ParentType, ContextType>;
};

export type DeleteCommentPayloadResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['DeleteCommentPayload'] = ResolversParentTypes['DeleteCommentPayload']> = {
  commentId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type UpdateProfilePayloadResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['UpdateProfilePayload'] = ResolversParentTypes['UpdateProfilePayload']> = {
  user?: Resolver<ResolversTypes['User'], ParentType, ContextType>;
};

export type DeleteAccountPayloadResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['DeleteAccountPayload'] = ResolversParentTypes['DeleteAccountPayload']> = {
  userId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
};

export type PageInfoResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['PageInfo'] = ResolversParentTypes['PageInfo']> = {
  hasNextPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  hasPreviousPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  startCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  endCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type UserResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['User'] = ResolversParentTypes['User'], FederationReferenceType extends FederationReferenceTypes['User'] = FederationReferenceTypes['User']> = {
  __resolveReference: ReferenceResolver<Maybe<ResolversTypes['User']>, FederationReferenceType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  userId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  handle?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  displayName?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  avatarUrl?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  followerCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  followingCount?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  viewerIsFollowing?: Resolver<Maybe<ResolversTypes['Boolean']>, ParentType, ContextType>;
  contents?: Resolver<ResolversTypes['ContentConnection'], ParentType, ContextType, Partial<UserContentsArgs>>;
  followers?: Resolver<ResolversTypes['UserConnection'], ParentType, ContextType, Partial<UserFollowersArgs>>;
  following?: Resolver<ResolversTypes['UserConnection'], ParentType, ContextType, Partial<UserFollowingArgs>>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
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
  repostOf?: Resolver<Maybe<ResolversTypes['Content']>, ParentType, ContextType>;
  comments?: Resolver<ResolversTypes['CommentConnection'], ParentType, ContextType, Partial<ContentCommentsArgs>>;
  likers?: Resolver<ResolversTypes['UserConnection'], ParentType, ContextType, Partial<ContentLikersArgs>>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type CommentResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['Comment'] = ResolversParentTypes['Comment'], FederationReferenceType extends FederationReferenceTypes['Comment'] = FederationReferenceTypes['Comment']> = {
  __resolveReference: ReferenceResolver<Maybe<ResolversTypes['Comment']>, FederationReferenceType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  commentId?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  text?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  author?: Resolver<Maybe<ResolversTypes['User']>, ParentType, ContextType>;
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

export type ContentConnectionResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['ContentConnection'] = ResolversParentTypes['ContentConnection']> = {
  edges?: Resolver<Array<ResolversTypes['ContentEdge']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type ContentEdgeResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['ContentEdge'] = ResolversParentTypes['ContentEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<Maybe<ResolversTypes['Content']>, ParentType, ContextType>;
};

export type UserConnectionResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['UserConnection'] = ResolversParentTypes['UserConnection']> = {
  edges?: Resolver<Array<ResolversTypes['UserEdge']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type UserEdgeResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['UserEdge'] = ResolversParentTypes['UserEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<Maybe<ResolversTypes['User']>, ParentType, ContextType>;
};

export type CommentConnectionResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['CommentConnection'] = ResolversParentTypes['CommentConnection']> = {
  edges?: Resolver<Array<ResolversTypes['CommentEdge']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type CommentEdgeResolvers<ContextType = RequestContext, ParentType extends ResolversParentTypes['CommentEdge'] = ResolversParentTypes['CommentEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<Maybe<ResolversTypes['Comment']>, ParentType, ContextType>;
};

export type Resolvers<ContextType = RequestContext> = {
  DateTime?: GraphQLScalarType;
  Node?: NodeResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  Mutation?: MutationResolvers<ContextType>;
  PublishContentPayload?: PublishContentPayloadResolvers<ContextType>;
  DeleteContentPayload?: DeleteContentPayloadResolvers<ContextType>;
  SetVisibilityPayload?: SetVisibilityPayloadResolvers<ContextType>;
  SetFollowPayload?: SetFollowPayloadResolvers<ContextType>;
  SetBlockPayload?: SetBlockPayloadResolvers<ContextType>;
  SetReactionPayload?: SetReactionPayloadResolvers<ContextType>;
  AddCommentPayload?: AddCommentPayloadResolvers<ContextType>;
  DeleteCommentPayload?: DeleteCommentPayloadResolvers<ContextType>;
  UpdateProfilePayload?: UpdateProfilePayloadResolvers<ContextType>;
  DeleteAccountPayload?: DeleteAccountPayloadResolvers<ContextType>;
  PageInfo?: PageInfoResolvers<ContextType>;
  User?: UserResolvers<ContextType>;
  Content?: ContentResolvers<ContextType>;
  Comment?: CommentResolvers<ContextType>;
  Media?: MediaResolvers<ContextType>;
  ContentCounters?: ContentCountersResolvers<ContextType>;
  ContentConnection?: ContentConnectionResolvers<ContextType>;
  ContentEdge?: ContentEdgeResolvers<ContextType>;
  UserConnection?: UserConnectionResolvers<ContextType>;
  UserEdge?: UserEdgeResolvers<ContextType>;
  CommentConnection?: CommentConnectionResolvers<ContextType>;
  CommentEdge?: CommentEdgeResolvers<ContextType>;
};


