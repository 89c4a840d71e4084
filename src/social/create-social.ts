import { throwAsAway } from '../stores/database-away.js';
import { addComment } from './add-comment.js';
import { deleteAccount } from './delete-account.js';
import { deleteComment } from './delete-comment.js';
import { deleteContent } from './delete-content.js';
import type { SocialDeps } from './deps.js';
import { publishContent } from './publish-content.js';
import { listCommentPage, listFollowerPage, listFollowingPage, listLikerPage, listOutboxPage } from './read-pages.js';
import { findComments, findFollowed, findUserByHandle, findUserCounts, findVisibleContents } from './read-social.js';
import { setBlock } from './set-block.js';
import { setFollow } from './set-follow.js';
import { createSetReaction } from './set-reaction.js';
import { setVisibility } from './set-visibility.js';
import { updateProfile } from './update-profile.js';

export type Social = ReturnType<typeof createSocial>;

/** The social side as its resolvers, the demo data and the command line see it. */
export function createSocial(deps: SocialDeps) {
  const setReaction = createSetReaction(deps);
  return {
    publishContent: bind(publishContent),
    deleteContent: bind(deleteContent),
    setVisibility: bind(setVisibility),
    setFollow: bind(setFollow),
    setBlock: bind(setBlock),
    setReaction: bind((_, ...args: Parameters<typeof setReaction>) => setReaction(...args)),
    addComment: bind(addComment),
    deleteComment: bind(deleteComment),
    updateProfile: bind(updateProfile),
    deleteAccount: bind(deleteAccount),
    findVisibleContents: bind(findVisibleContents),
    findUserCounts: bind(findUserCounts),
    findUserByHandle: bind(findUserByHandle),
    findFollowed: bind(findFollowed),
    findComments: bind(findComments),
    listOutboxPage: bind(listOutboxPage),
    listFollowerPage: bind(listFollowerPage),
    listFollowingPage: bind(listFollowingPage),
    listLikerPage: bind(listLikerPage),
    listCommentPage: bind(listCommentPage),
  };

  function bind<Args extends unknown[], Result>(command: (deps: SocialDeps, ...args: Args) => Promise<Result>) {
    return async (...args: Args): Promise<Result> => command(deps, ...args).catch(throwAsAway);
  }
}
