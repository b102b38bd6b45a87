import type { TurnProtocol } from '../turns/turn-response.ts'
import type { ResponseEvent, ResponseMapper } from './response-mapper.ts'

/** The event stream of Open Responses. */
export function responseProtocol(mapper: ResponseMapper): TurnProtocol<ResponseEvent> {
  return {
    mapperOf: () => mapper,
    encode: (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    broken: (code, message) => mapper.broken(code, message),
    tail: 'data: [DONE]\n\n',
  }
}
