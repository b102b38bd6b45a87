const longest = 64

/**
 * Returns a tool's name as providers accept it: the name itself if it is 1 to 64 letters, digits, `_` and `-`; otherwise
 * its beginning with a hash of the whole. The same name always gives the same result.
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

/** FNV-1a. It separates honest names; the registry detects deliberate collisions. */
function hash(text: string): string {
  let sum = 0x811c9dc5
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  return (sum >>> 0).toString(36).padStart(7, '0')
}
