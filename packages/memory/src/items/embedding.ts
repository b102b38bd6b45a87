import type { EmbeddingModelV4, RerankingModelV4 } from '@ai-sdk/provider'
import { ProvostError } from '@provost/core'

/** An AI SDK embedding model, or a function that returns a vector for each text. */
export type Embedder = EmbeddingModelV4 | ((texts: readonly string[]) => Promise<readonly (readonly number[])[]>)
/** An AI SDK reranking model, or a function that returns a score for each text; a higher score is a better match. */
export type Reranker = RerankingModelV4 | ((query: string, texts: readonly string[]) => Promise<readonly number[]>)

/** Returns the name of an embedder. Vectors of different embedders are not comparable. */
export function embedderName(embedder: Embedder): string {
  return typeof embedder === 'function' ? 'function' : `${embedder.provider}/${embedder.modelId}`
}

/** @throws ProvostError `bad-embedding` for an answer of the wrong shape. */
export async function embed(embedder: Embedder, text: string): Promise<Float32Array> {
  const [vector] =
    typeof embedder === 'function' ? await embedder([text]) : (await embedder.doEmbed({ values: [text] })).embeddings
  if (!vector || vector.length === 0 || !vector.every((value) => Number.isFinite(value))) {
    throw new ProvostError('bad-embedding', `${embedderName(embedder)} did not return a vector of numbers.`, {
      hint: 'Return one vector of finite numbers for each text.',
    })
  }
  return Float32Array.from(vector)
}

/** @throws ProvostError `bad-reranking` for an answer of the wrong shape. */
export async function rerank(reranker: Reranker, query: string, texts: readonly string[]): Promise<readonly number[]> {
  if (typeof reranker !== 'function') {
    const { ranking } = await reranker.doRerank({ query, documents: { type: 'text', values: [...texts] } })
    // Texts that the ranking omits come last.
    const scores = texts.map(() => 0)
    for (const { index, relevanceScore } of ranking) if (index in scores) scores[index] = relevanceScore
    return scores
  }
  const scores = await reranker(query, texts)
  if (scores.length === texts.length && scores.every((score) => Number.isFinite(score))) return scores
  throw new ProvostError('bad-reranking', 'The reranker did not return a number for each text.', {
    hint: 'Return one score for each text, in the order of the texts.',
  })
}
