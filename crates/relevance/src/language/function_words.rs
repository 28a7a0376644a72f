//! Function words of languages in Latin script, and the verbs that requests in them begin with.

use std::collections::HashSet;

/// A language and the words that identify it.
pub(super) struct LanguageWords {
    pub(super) name: &'static str,
    /// Words that no English request contains, except in a quotation.
    proofs: &'static str,
    /// Words that also occur in names or in other languages.
    hints: &'static str,
}

/// The words of a request and language-independent facts about them.
pub(super) struct WordEvidence {
    pub(super) words: HashSet<String>,
    /// The number of clearly English words.
    pub(super) english: usize,
    /// The number of words with a non-ASCII letter, which names can have too.
    pub(super) accented: usize,
}

impl LanguageWords {
    /// Returns the number of words that indicate the language. Without a proof, hints only count if
    /// there are several and no word is English.
    pub(super) fn count_evidence(&self, request: &WordEvidence) -> usize {
        let hints = count_known(self.hints, &request.words);
        let is_likely = request.english == 0 && hints > 0 && hints + request.accented > 1;
        match count_known(self.proofs, &request.words) {
            0 if is_likely => hints,
            0 => 0,
            proofs => proofs + hints,
        }
    }
}

fn count_known(known: &str, words: &HashSet<String>) -> usize {
    known
        .split_ascii_whitespace()
        .filter(|it| words.contains(*it))
        .count()
}

pub(super) const LANGUAGES: [LanguageWords; 17] = [
    LanguageWords {
        name: "German",
        proofs: "aktualisiere allen bitte der diese diesem diesen dieser dieses ein eine einem einen einer eines \
                 erstelle erstellen finde füge für hinzu ich ist kann kannst lege lösche löschen mein meine \
                 meinem meinen meiner mich mir nach nicht oder schick schicke schicken schreib schreibe \
                 sende senden sind speichere starte suche suchen trage und unser unsere vom wann warum welche \
                 welcher welches werden wie wieviel wird wo zeig zeige zeigen zum zur zusammenfassen öffne öffnen \
                 über übersetze",
        hints: "morgen alle auf aus bei bis das dem den die für gib heute im leg man mit neue neuen sag um von vor war \
                 wer zu",
    },
    LanguageWords {
        name: "French",
        proofs: "affiche afficher ajoute ajouter avec ces cherche chercher cherches combien crée créer dans \
                 derniers dernière donne envoie fais j'ai l'adresse leur liste-moi mettre montre montrer nous \
                 nouveau nouvelle ouvre ouvrir où peux peux-tu pourquoi qu'est-ce quel quelle quelles quels \
                 rechercher réserve supprime supprimer tous toutes traduis trouve trouver vers veux votre \
                 voudrais écrire écris être",
        hints: "au aux ce cette de des du elle en envoyer est et je la le les liste ma mes moi mon nos notre par \
                 pas pour que qui sa se si son sur ta te un une vos à",
    },
    LanguageWords {
        name: "Spanish",
        proofs: "abre abrir actualiza agrega añade añadir borra borrar busca buscar crea crear cuál cuáles cuándo \
                 cuánto cuántos cómo dame dime dónde elimina eliminar encuentra encuéntrame enséñame enviar envía \
                 envíale esta este estos está están hazme manda mis mostrar muestra muéstrame mándale necesito \
                 nueva nuevo porque puedes quiero qué reserva siguiente todas traduce unos",
        hints: "al como con correo de del el en es haz hoy la las le lista lo mi para pon por que se si sin su \
                 sus todos un una ver y",
    },
    LanguageWords {
        name: "Portuguese",
        proofs: "abrir adicionar adicione agora apagar apague atualize criar crie encontre enviar envie escreva \
                 esta este exclua excluir faça isso liste-me mande meus minha minhas mostrar mostre mostre-me não \
                 onde pela pelo procure quais qual quando quanto quantos quero também todas traduza você",
        hints: "abra ao aos buscar busque com como da das de dos e ela ele em eu hoje liste mas meu na nas nos \
                 nova novo o os para por que reserve se seu sua são todos um uma uns",
    },
    LanguageWords {
        name: "Italian",
        proofs: "aggiorna aggiungere aggiungi alla apri cancella cerca cercare crea creare dalla dammi degli \
                 della delle dimmi dove elenca elimina fammi invia inviare invio manda mandare mostra mostrami \
                 mostrare nella nuova nuovo ogni perché prenota qual quale quali quando quanti quanto questa \
                 questo riassumi scrivi sono sulla trova trovare tutte tutti vorrei è",
        hints: "al alle che chi con da dai dal dei del di e gli ho il la le lo mi mia mio nel non se si su sul \
                 suo un un' una uno",
    },
    LanguageWords {
        name: "Dutch",
        proofs: "alsjeblieft deze een geef hebben het hoeveel jouw laat maak mijn naar niet nieuw nieuwe onze \
                 schrijf stuur toevoegen toon vandaag verstuur vertaal verwijder vind vindt voeg voor waar waarom \
                 wanneer welke wie zien zijn zoek zoeken",
        hints: "morgen aan alle bij boek dat de die dit door en er hoe ik je kan met mij om ons op te tot uit van vat \
                 wat wil zet",
    },
    LanguageWords {
        name: "Swedish",
        proofs: "alla boka denna detta där efter eller från för hitta ihåg inte lägg mig mitt måste nytt när och \
                 på radera sammanfatta skapa skicka skriv sök uppdatera vilka vilken vill än är översätt",
        hints: "att av byt de dem den det du en ett ge han har hur jag kan lista med mina mot ny nya om sig ska \
                 som ta till vad var vi visa",
    },
    LanguageWords {
        name: "Danish",
        proofs: "bestil denne dette efter eller hent hvad hvilke hvilken hvor hvordan hvornår ikke jeg mig når \
                 opret oversæt på skriv slet søg tilføj være øge",
        hints: "morgen af alle de dem den der det en er et fra kan lav med mit ny nye nyt og om som til vil vis",
    },
    LanguageWords {
        name: "Norwegian",
        proofs: "dette eller finn hent hvilke hvilken hvor hvordan ikke jeg legg meg mitt nytt når oppdater \
                 opprett oversett på skriv slett søk være",
        hints: "morgen alle av de den der det en er et fra hva kan lag med ny nye og om som til vil vis",
    },
    LanguageWords {
        name: "Polish",
        proofs: "czy dodaj gdzie ile jak jaka jaki jakie już kiedy która które który mnie moich moje mój nie nowe \
                 nowy nowych nową oraz otwórz pokaż przetłumacz przy się stwórz szukaj są tego usuń utwórz \
                 wszystkich wszystkie wyszukaj wyślij zapisz zarezerwuj znajdź zrób że",
        hints: "co dla jest lub mi na nad o od po z za ze",
    },
    LanguageWords {
        name: "Czech",
        proofs: "jak jaké jaký jsem jsou kde kdy kolik která které který mně moje mě můj najdi napiš nebo nová \
                 nové nový odešli otevři podle pošli prosím přelož přidej smaž spusť ukaž vyhledej vytvoř všech \
                 všechny zobraz že",
        hints: "aby co je k mi na o od po s se si v ve z za ze",
    },
    LanguageWords {
        name: "Turkish",
        proofs: "bana bir bul ekle gibi gönder göster hangi ile için kadar kaydet kaç listele mü mı nasıl nerede \
                 olan oluştur sil tüm veya yap yarın yaz yeni çevir",
        hints: "ara ben benim bu bugün da de en et mi ne o oku son var ve",
    },
    LanguageWords {
        name: "Finnish",
        proofs: "avaa etsi että hae kaikki kirjoita kuinka käännä lisää luo lähetä mikä minulle minun missä mitkä \
                 mitä näytä olen poista päivitä sekä tallenna tämä uuden uusi varaa",
        hints: "ei ja jos kun minä oma se tai voi",
    },
    LanguageWords {
        name: "Romanian",
        proofs: "această acest adaugă afișează arată arată-mi caută creează când cât câte către deschide este fă \
                 găsește mele mi-e nouă pentru rezervă scrie sunt să toate toți traduce trimite unde în încă și \
                 șterge",
        hints: "al ce cu cum de din la mea meu nou nu o pe un",
    },
    LanguageWords {
        name: "Hungarian",
        proofs: "egy egyik foglalj fordítsd hogy hogyan hozz hány keresd keress kérem készíts küldd küldj legyen \
                 létre meg melyik mentsd mikor mutasd mutass nekem nem nyisd szerint töröld vagy és írj összes új",
        hints: "adj az el hol ki mi van",
    },
    LanguageWords {
        name: "Indonesian",
        proofs: "bagaimana baru berapa buat buatkan buka cari carikan dari dengan dimana hapus kapan kirim \
                 kirimkan pada saya sebuah semua tambahkan tampilkan terjemahkan tolong tulis ubah untuk yang",
        hints: "ada aku apa bisa daftar dan di ini itu ke mana",
    },
    LanguageWords {
        name: "Vietnamese",
        proofs: "các của dịch gửi hiển hãy không liệt là làm lịch một mới mở những nào này thêm thị trong tìm tôi \
                 tạo tất tệp từ viết và vào về với xóa đang đã được đặt đến để ở",
        hints: "ba bao cho hai kiếm sao",
    },
];
