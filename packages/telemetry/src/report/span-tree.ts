import type { CollectedSpan } from './collect-spans.ts'

/** A span with its children, in order of their start. */
export interface SpanNode extends CollectedSpan {
  readonly children: readonly SpanNode[]
}

/** Returns spans as trees: one for each span whose parent is not among them. Linear. */
export function spanTree(spans: readonly CollectedSpan[]): readonly SpanNode[] {
  const nodes = new Map(spans.map((span) => [span.spanId, { ...span, children: new Array<SpanNode>() }]))
  const roots: SpanNode[] = []
  for (const node of nodes.values()) {
    const above = node.parentId === undefined ? undefined : nodes.get(node.parentId)
    const siblings = above ? above.children : roots
    siblings.push(node)
  }
  return roots
}

/** A line of a drawn tree: a span, or an event of one. */
export interface TreeLine {
  /** `│  ├─ ` */
  readonly branch: string
  readonly kind: 'span' | 'event'
  readonly name: string
  /** The most relevant facts, in a few words. */
  readonly facts: readonly string[]
  readonly span: CollectedSpan
  /** The attributes of a span, without those that equal the parent's. */
  readonly attributes: readonly (readonly [string, string])[]
  readonly failed: boolean
}

const deepest = 200

/** Returns a tree as lines from the top. Spans and events are ordered by time. */
export function treeLines(roots: readonly SpanNode[]): readonly TreeLine[] {
  const lines: TreeLine[] = []
  const walk = (node: SpanNode, above: SpanNode | undefined, lead: string, below: string, depth: number): void => {
    const { name, failed } = node
    const attributes = ownOf(node, above)
    lines.push({ branch: lead, kind: 'span', name, facts: factsOf(node), span: node, attributes, failed })
    const inside = [
      ...node.events.map((event) => ({ at: event.at, event, child: undefined })),
      ...node.children.map((child) => ({ at: child.start, event: undefined, child })),
    ].toSorted((a, b) => a.at - b.at)
    for (const [index, { event, child }] of inside.entries()) {
      const last = index === inside.length - 1
      const [branch, under] = last ? ['└─ ', '   '] : ['├─ ', '│  ']
      if (child) {
        if (depth < deepest) walk(child, node, below + branch, below + under, depth + 1)
      } else if (event) {
        const facts = Object.entries(event.attributes).flatMap(([key, value]) =>
          value === undefined || isNoise(key, value, event.name)
            ? []
            : [`${key.slice(key.lastIndexOf('.') + 1)} ${written(value)}`],
        )
        lines.push({
          branch: below + branch,
          kind: 'event',
          name: event.name.replace(/^provost\./, ''),
          facts,
          span: node,
          attributes: [],
          failed: false,
        })
      }
    }
  }
  for (const root of roots) walk(root, undefined, '', '', 0)
  return lines
}

function ownOf({ attributes }: CollectedSpan, above: CollectedSpan | undefined): TreeLine['attributes'] {
  return Object.entries(attributes).flatMap(([key, value]): [string, string][] =>
    value === undefined || value === above?.attributes[key] ? [] : [[key, written(value)]],
  )
}

/** Whether an attribute is too long to read, repeats the name, or is empty. */
function isNoise(key: string, value: unknown, event: string): boolean {
  return (
    key === 'gen_ai.tool.call.id' ||
    (key.startsWith('provost.pending.') && value === 0) ||
    (typeof value === 'string' && event.endsWith(`.${value}`))
  )
}

function factsOf({ attributes, message, links }: CollectedSpan): readonly string[] {
  const of = (key: string): string | undefined => {
    const value = attributes[key]
    return value === undefined ? undefined : written(value)
  }
  const [input, output, cached] = [
    of('gen_ai.usage.input_tokens'),
    of('gen_ai.usage.output_tokens'),
    of('gen_ai.usage.cache_read.input_tokens'),
  ]
  const cost = attributes['provost.cost_usd']
  const error = of('error.type')
  return [
    of('provost.run.status'),
    input === undefined && output === undefined ? undefined : `${input ?? '?'} → ${output ?? '?'} tokens`,
    cached !== undefined && cached !== '0' ? `${cached} cached` : undefined,
    of('gen_ai.response.finish_reasons'),
    typeof cost === 'number' ? `$${cost.toFixed(4)}` : undefined,
    of('provost.purpose'),
    error === undefined ? undefined : message === undefined ? error : `${error}: ${message}`,
    attributes['gen_ai.conversation.compacted'] === true ? 'compacted' : undefined,
    links.length > 0 ? 'linked to an earlier span' : undefined,
  ].filter((fact) => fact !== undefined)
}

/** Formats an attribute as text. */
export function written(value: unknown): string {
  return typeof value === 'string'
    ? value
    : Array.isArray(value)
      ? value.map(written).join(', ')
      : typeof value === 'number'
        ? String(Number(value.toPrecision(6)))
        : JSON.stringify(value)
}
