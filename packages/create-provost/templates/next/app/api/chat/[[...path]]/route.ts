import { agents } from '../../../../server.ts'

const answer = (request: Request) => agents().fetch(request)

/** The messages of a chat, and its answer in progress. */
export const GET = answer
/** A message, an edit, an approval, a stop: what `useChat` sends. */
export const POST = answer
