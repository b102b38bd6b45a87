import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Returns the links and pictures of a built site that lead nowhere, as `page → target`. */
export function deadLinks(site: string): readonly string[] {
  const pages = globSync('**/*.html', { cwd: site }).toSorted((a, b) => a.localeCompare(b))
  const ids = new Map<string, ReadonlySet<string>>()
  const idsOf = (page: string): ReadonlySet<string> => {
    const known =
      ids.get(page) ??
      new Set([...readFileSync(join(site, page), 'utf8').matchAll(/ id="([^"]+)"/gu)].map(([, id = '']) => id))
    ids.set(page, known)
    return known
  }
  return pages.flatMap((page) => {
    const html = readFileSync(join(site, page), 'utf8')
    const targets = new Set(
      [...html.matchAll(/<(?:a|img|link|script)\b[^>]*? (?:href|src)="([^"]+)"/gu)].map(([, target = '']) =>
        decodeURI(target.replaceAll('&amp;', '&')),
      ),
    )
    return [...targets].flatMap((target) => {
      if (/^[\w+.-]+:/u.test(target)) return []
      const [path = '', anchor = ''] = target.split('#')
      const place = path === '' ? page : path.startsWith('/') ? path.slice(1) : join(dirname(page), path)
      const file = [place, `${place}.html`, join(place, 'index.html')].find(
        (one) => one !== '' && /\.\w+$/u.test(one) && existsSync(join(site, one)),
      )
      const sound = file !== undefined && (anchor === '' || !file.endsWith('.html') || idsOf(file).has(anchor))
      return sound ? [] : [`${page} → ${target}`]
    })
  })
}
