import type { DataFlowRule } from '../provenance/data-flow-rule.ts'
import { named } from './intent-preset.ts'

/** Asks if the arguments carry a span of untrusted text, verbatim or rewritten. */
const untrustedToSink: DataFlowRule = named('untrusted-to-sink', ({ call, hits }) => {
  const [hit] = hits
  if (!hit) return undefined
  const { source, path, span, view } = hit
  return {
    ask: {
      reason: `${call.tool.name} carries text that came from ${source}`,
      evidence: { tool: call.tool.name, argument: path, span: { source, start: span[0], end: span[1], view } },
    },
  }
})

/** Asks once the run has read both untrusted text and secret data: an outsider may have caused the call. */
export const lethalTrifecta: DataFlowRule = named('lethal-trifecta', ({ call, known }) => {
  const { provenance } = known
  const secret = provenance.secretRead || call.label.confidentiality === 'secret'
  const untrusted = provenance.untrustedRead || call.label.integrity === 'untrusted'
  if (!secret || !untrusted) return undefined
  return {
    ask: {
      reason: `untrusted text and secret data were read before ${call.tool.name}`,
      evidence: { tool: call.tool.name, sources: call.label.sources },
    },
  }
})

/** The rules of comparable tools: verbatim spans, and the gate on secret data together with untrusted text. */
export const classicPreset: readonly DataFlowRule[] = Object.freeze([untrustedToSink, lethalTrifecta])
