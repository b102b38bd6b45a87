import { HttpError } from '../http/http-error.ts'

/** The used exports of `@a2a-js/sdk`. */
export type A2aSdk = typeof import('@a2a-js/sdk') &
  Pick<typeof import('@a2a-js/sdk/server'), 'JsonRpcTransportHandler' | 'ServerCallContext' | 'validateVersion'> &
  Pick<typeof import('@a2a-js/sdk/compat/v0_3/server'), 'LegacyJsonRpcTransportHandler'> &
  Pick<
    typeof import('@a2a-js/sdk/errors'),
    | 'A2AError'
    | 'A2A_ERROR_CODE'
    | 'ExtendedAgentCardNotConfiguredError'
    | 'PushNotificationNotSupportedError'
    | 'RequestMalformedError'
    | 'TaskNotCancelableError'
    | 'TaskNotFoundError'
    | 'UnsupportedOperationError'
  >

/** Loads the SDK. @throws HttpError 404 if it is not installed. */
export async function loadA2a(): Promise<A2aSdk> {
  try {
    const [main, server, errors, { LegacyJsonRpcTransportHandler }] = await Promise.all([
      import('@a2a-js/sdk'),
      import('@a2a-js/sdk/server'),
      import('@a2a-js/sdk/errors'),
      import('@a2a-js/sdk/compat/v0_3/server'),
    ])
    return { ...main, ...server, ...errors, LegacyJsonRpcTransportHandler }
  } catch {
    throw new HttpError(404, {
      code: 'not-installed',
      message: 'A2A is not available on this server.',
      hint: 'Install @a2a-js/sdk beside @provost/server.',
    })
  }
}
