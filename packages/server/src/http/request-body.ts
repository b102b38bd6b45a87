import { HttpError } from './http-error.ts'
import { badRequest } from './request-error.ts'
import { isTooDeep } from './request-schema.ts'

/**
 * Returns the body of a request as text, with or without a content length.
 *
 * @param most bytes at most.
 * @throws HttpError 413; 400 if the body is incomplete
 */
export async function textOf(request: Request, most: number): Promise<string> {
  if (Number(request.headers.get('content-length') ?? 0) > most) throw tooLarge(most)
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  try {
    for await (const bytes of request.body ?? []) {
      size += bytes.byteLength
      if (size > most) throw tooLarge(most)
      text += decoder.decode(bytes, { stream: true })
    }
  } catch (thrown) {
    // The client has disconnected: this is not a failure of the server.
    throw thrown instanceof HttpError ? thrown : badRequest('The body of the request is incomplete.')
  }
  return text + decoder.decode()
}

/**
 * Returns the parsed JSON body of a request.
 *
 * @param most bytes at most.
 * @throws HttpError 413, 415, 400
 */
export async function jsonOf(request: Request, most: number): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  // A browser sends this type to another origin only after a preflight request.
  if (!/^application\/json\s*(?:;|$)/iu.test(type)) {
    throw new HttpError(415, {
      code: 'not-json',
      message: 'The content type of the body is not application/json.',
      hint: 'Send content-type: application/json.',
    })
  }
  const text = await textOf(request, most)
  const tooDeep = isTooDeep(text)
  try {
    if (!tooDeep) return JSON.parse(text)
  } catch {
    // The error below reports it.
  }
  throw new HttpError(400, {
    code: 'not-json',
    message: tooDeep ? 'The JSON of the body is nested too deeply.' : 'The body is not valid JSON.',
    hint: 'Send what /openapi.json describes.',
  })
}

function tooLarge(most: number): HttpError {
  const error = {
    code: 'too-large',
    message: `The body has more than ${most} bytes.`,
    hint: 'Send a smaller body.',
  }
  // Closes the connection, since the rest of the body is not read.
  return new HttpError(413, error, { connection: 'close' })
}
