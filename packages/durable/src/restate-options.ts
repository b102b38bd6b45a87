import type { KnownKeys } from '@provost/core'
import { checkOptions, isRecord, ProvostError } from '@provost/core'

/** How many sessions of a tenant run at once. */
export interface TenantLimit {
  /** The id of a principal. */
  readonly tenant: string
  readonly concurrency: number
}

/** Options of `restateEngine`. */
export interface RestateEngineOptions {
  /** Where the server accepts invocations: `http://127.0.0.1:8080`. */
  readonly ingress: string
  /**
   * Where the server is administered: `http://127.0.0.1:9070`. With it this process registers itself as it starts to serve.
   * Without it, register its address once for each version, with `restate deployments register`.
   */
  readonly admin?: string
  /** Port at which this process receives invocations from the server; default 9080, 0 for a free one. */
  readonly port?: number
  /** Address of that port; default `127.0.0.1`. Other addresses need `identityKeys`. */
  readonly host?: string
  /**
   * URL at which the server reaches this process: that of a load balancer for several processes with the same code. Default:
   * the address and the port.
   */
  readonly advertise?: string
  /** Public keys of the server, which signs its requests: `publickeyv1_…`. Requests without a signature are rejected. */
  readonly identityKeys?: readonly string[]
  /** Token for the ingress and the administration, sent as a bearer token. */
  readonly token?: string
  /**
   * Name of the service on the server; default `provost`. Runs stay on the code of their version where the name contains it,
   * such as `provost-v7`; then each version keeps processes until its runs have ended.
   */
  readonly service?: string
  /**
   * Limits for tenants: the server starts no more sessions of a tenant at once. Uses its experimental limits, which have to be
   * switched on (`experimental-enable-vqueues`). The names of these tenants are then stored by the server.
   * Wakes then come from the index of the store alone: set `pollMs` of the process to the longest delay that you accept.
   */
  readonly limits?: readonly TenantLimit[]
  /** Receives each reason of a failed registration once; it is repeated until it succeeds. Default: a process warning. */
  readonly onFault?: (error: unknown) => void
}

const optionKeys = {
  ingress: true,
  admin: true,
  port: true,
  host: true,
  advertise: true,
  identityKeys: true,
  token: true,
  service: true,
  limits: true,
  onFault: true,
} satisfies KnownKeys<RestateEngineOptions>

/** The options with their defaults. */
export type Checked = RestateEngineOptions &
  Required<Pick<RestateEngineOptions, 'port' | 'host' | 'service' | 'onFault'>>

const where = 'restateEngine'
const local = ['127.0.0.1', '::1', 'localhost']

/** @throws ProvostError `unknown-option`, `invalid-option` */
export function checkRestateOptions(options: RestateEngineOptions): Checked {
  checkOptions(options, optionKeys, where)
  const { ingress, admin, advertise, port = 9_080, host = '127.0.0.1', service = 'provost', limits = [] } = options
  for (const [name, url] of Object.entries({ ingress, admin, advertise })) {
    if (name !== 'ingress' && url === undefined) continue
    if (typeof url !== 'string' || !URL.canParse(url)) throw invalid(name, url, 'Give a URL: http://127.0.0.1:8080.')
  }
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw invalid('port', port, 'Give a port from 0 to 65535.')
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(service))
    throw invalid('service', service, 'Give letters, digits, dots, - and _.')
  if (!local.includes(host) && !(options.identityKeys && options.identityKeys.length > 0))
    throw invalid('host', host, 'Give identityKeys too: any machine could start runs otherwise.')
  for (const limit of limits) {
    const { tenant, concurrency }: Readonly<Record<string, unknown>> = isRecord(limit) ? limit : {}
    if (typeof tenant !== 'string' || tenant === '' || !Number.isInteger(concurrency) || Number(concurrency) < 1)
      throw invalid('limits', limit, 'Give { tenant, concurrency } with a whole number from 1.')
  }
  if (limits.length > 0 && admin === undefined) throw invalid('limits', limits, 'Give admin too: rules are put there.')
  return { ...options, port, host, service, onFault: options.onFault ?? warn }
}

function invalid(name: string, value: unknown, hint: string): ProvostError {
  const shown = (JSON.stringify(value) ?? String(value)).slice(0, 200)
  return new ProvostError('invalid-option', `"${name}" of ${where} is ${shown}.`, { hint })
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { code: 'PROVOST_RESTATE' })
}
