import { HttpError } from './http-error.ts'
import { badRequest } from './request-error.ts'
import { isTooDeep } from './request-schema.ts'

/**
 * The body of a request as text, whether it says how long it is or comes in chunks.
 *
 * @param most bytes.
 * @throws HttpError 413, 400 where it breaks off
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
    // Whoever sent it is gone: nothing failed in here.
    throw thrown instanceof HttpError ? thrown : badRequest('The body broke off.')
  }
  return text + decoder.decode()
}

/**
 * The body of a request as what its JSON says.
 *
 * @param most bytes.
 * @throws HttpError 413, 415, 400
 */
export async function jsonOf(request: Request, most: number): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  // A page of another origin cannot send this type without being asked for its right to.
  if (!/^application\/json\s*(?:;|$)/iu.test(type)) {
    throw new HttpError(415, {
      code: 'not-json',
      message: 'The body is not JSON.',
      hint: 'Send content-type: application/json.',
    })
  }
  const text = await textOf(request, most)
  const tooDeep = isTooDeep(text)
  try {
    if (!tooDeep) return JSON.parse(text)
  } catch {
    // Said below.
  }
  throw new HttpError(400, {
    code: 'not-json',
    message: tooDeep ? 'The JSON of the body is nested too deeply.' : 'The body is not JSON.',
    hint: 'Send what /openapi.json describes.',
  })
}

function tooLarge(most: number): HttpError {
  const error = {
    code: 'too-large',
    message: `A body has up to ${most} bytes here.`,
    hint: 'Send less at once.',
  }
  // What is still to come is not read.
  return new HttpError(413, error, { connection: 'close' })
}
