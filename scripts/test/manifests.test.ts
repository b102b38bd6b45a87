import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { findRestate, startRestate } from '../../packages/testing/src/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(root, 'docs/guide/many-machines.md'), 'utf8')
const blocks = [...page.matchAll(/^```yaml\n(.*?)\n```$/gms)].map(([, block = '']) => block)
const documents = blocks.flatMap((block) => parseAllDocuments(block, { strict: true }))

interface Port {
  readonly name: string
  readonly port?: number
  readonly containerPort?: number
  readonly targetPort?: string
}

interface Variable {
  readonly name: string
  readonly value?: string
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface Container {
  readonly name: string
  readonly image: string
  readonly env?: readonly Variable[]
  readonly ports?: readonly Port[]
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
  readonly volumeMounts?: readonly { readonly name: string }[]
}

type Labels = Readonly<Record<string, string>>

/** The fields of manifests that refer to others. */
interface Manifest {
  readonly kind?: string
  readonly metadata?: { readonly name: string }
  readonly spec?: {
    readonly serviceName?: string
    readonly selector?: Labels & { readonly matchLabels?: Labels }
    readonly ports?: readonly Port[]
    readonly podSelector?: { readonly matchLabels: Labels }
    readonly ingress?: readonly {
      readonly from: readonly { readonly podSelector: { readonly matchLabels: Labels } }[]
    }[]
    readonly template?: {
      readonly metadata: { readonly labels: Labels }
      readonly spec: {
        readonly containers: readonly Container[]
        readonly volumes?: readonly { readonly name: string }[]
      }
    }
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
  }
}

const manifests = documents.map((document): Manifest => document.toJS()).filter(({ kind }) => kind !== undefined)
const ofKind = (...kinds: readonly string[]): readonly Manifest[] =>
  manifests.filter(({ kind = '' }) => kinds.includes(kind))
const workloads = ofKind('Deployment', 'StatefulSet')
const services = ofKind('Service')
const containersOf = ({ spec }: Manifest): readonly Container[] => spec?.template?.spec.containers ?? []

/** Returns the workload whose pods have the labels. */
function labelled(labels: Labels | undefined): Manifest | undefined {
  return workloads.find(({ spec }) =>
    Object.entries(labels ?? { missing: '' }).every(([name, value]) => spec?.template?.metadata.labels[name] === value),
  )
}

test('the manifests of the guide are YAML, and each one has a kind and a name', () => {
  expect(documents.flatMap(({ errors }) => errors)).toEqual([])
  expect(manifests.map(({ kind, metadata }) => `${kind} ${metadata?.name}`)).toEqual([
    'Deployment workers',
    'Service workers',
    'StatefulSet restate',
    'Service restate',
    'NetworkPolicy restate',
  ])
})

test('selectors match pods, and services, probes and volumes name what is there', () => {
  const missing: string[] = []
  for (const workload of workloads) {
    const { spec, metadata } = workload
    const at = metadata?.name
    if (labelled(spec?.selector?.matchLabels) !== workload) missing.push(`${at}: selector`)
    if (spec?.serviceName !== undefined && !services.some((service) => service.metadata?.name === spec.serviceName))
      missing.push(`${at}: service`)
    const volumes = [
      ...(spec?.template?.spec.volumes ?? []),
      ...(spec?.volumeClaimTemplates ?? []).map((claim) => claim.metadata),
    ].map(({ name }) => name)
    for (const { ports = [], volumeMounts = [], readinessProbe, livenessProbe } of containersOf(workload)) {
      for (const probe of [readinessProbe, livenessProbe])
        if (probe && !ports.some(({ name }) => name === probe.httpGet.port)) missing.push(`${at}: port of a probe`)
      for (const { name } of volumeMounts) if (!volumes.includes(name)) missing.push(`${at}: volume ${name}`)
    }
  }
  for (const { spec, metadata } of services) {
    const { ports = [], selector } = spec ?? {}
    const served = containersOf(labelled(selector) ?? {}).flatMap((container) => container.ports ?? [])
    for (const { targetPort } of ports)
      if (!served.some(({ name }) => name === targetPort)) missing.push(`${metadata?.name}: port ${targetPort}`)
  }
  for (const { spec } of ofKind('NetworkPolicy')) {
    const peers = (spec?.ingress ?? []).flatMap(({ from }) => from.map(({ podSelector }) => podSelector))
    for (const selector of [spec?.podSelector, ...peers])
      if (!labelled(selector?.matchLabels)) missing.push(`policy: ${JSON.stringify(selector)}`)
  }
  expect(missing).toEqual([])
})

test('addresses in the environment are those of services', () => {
  const urls = workloads
    .flatMap(containersOf)
    .flatMap(({ env = [] }) => env.flatMap(({ value = '' }) => (value.startsWith('http:') ? [new URL(value)] : [])))
  expect(urls.length).toBeGreaterThan(2)
  for (const { hostname, port } of urls) {
    const service = services.find(({ metadata }) => metadata?.name === hostname)
    expect(service?.spec?.ports?.map((one) => String(one.port))).toContain(port)
  }
})

test('a Restate server starts with these settings and answers the probes', async ({ skip }) => {
  skip(process.env['PROVOST_TEST_FULL'] !== '1', 'in full runs')
  const binary = findRestate(join(root, 'bench/restate'))
  if (binary === undefined) return skip('the Restate server is not installed')
  const folder = mkdtempSync(join(tmpdir(), 'provost-manifest-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const key = join(folder, 'private.pem')
  const { privateKey } = generateKeyPairSync('ed25519')
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const container = workloads.flatMap(containersOf).find(({ name }) => name === 'restate')
  const settings = Object.fromEntries((container?.env ?? []).map(({ name, value = '' }) => [name, value]))
  // Its folder is that of `startRestate`, which says so on the command line.
  const server = await startRestate(binary, {
    ...settings,
    RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: key,
  })
  onTestFinished(() => server.stop())
  const bases: Readonly<Record<string, string>> = { ingress: server.ingress, admin: server.admin }
  for (const probe of [container?.readinessProbe, container?.livenessProbe])
    expect((await fetch(`${bases[probe?.httpGet.port ?? '']}${probe?.httpGet.path}`)).status).toBe(200)
})
