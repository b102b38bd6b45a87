const longest = 64

/**
 * A tool's name as providers take it: the name itself if it is 1 to 64 letters, digits, `_` and `-`; else what of it
 * fits, with a hash of the whole. The same name always gives the same one.
 *
 * @example
 * wireToolName('refund') // 'refund'
 * wireToolName('github.search') // 'github_search_' and seven characters
 */
export function wireToolName(name: string): string {
  if (/^[\w-]{1,64}$/.test(name)) return name
  const end = `_${hash(name)}`
  return (name.slice(0, longest - end.length).replaceAll(/[^\w-]/g, '_') || 'tool') + end
}

/** FNV-1a. It tells names apart; where two are made to meet, the registry sees it. */
function hash(text: string): string {
  let sum = 0x811c9dc5
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  return (sum >>> 0).toString(36).padStart(7, '0')
}
